"""`plumbline run` whose stage ends as a test says, without DVC and what is checked before it."""

from collections.abc import Callable

import pytest

from plumbline import pipeline_run
from plumbline.pipeline_run.reproduction import RunRequest
from plumbline.process import dvc_lock


def replace_reproduction(
    monkeypatch: pytest.MonkeyPatch, reproduce: Callable[[RunRequest], None]
) -> None:
    """Let `reproduce` be what DVC does; nothing is wrong before it."""
    for module, name in (
        (pipeline_run, "load_params"),
        (pipeline_run, "require_settings"),
        (dvc_lock, "check_pipeline"),
        (dvc_lock, "check_lock"),
        (pipeline_run.local_files, "require_local_models"),
    ):
        monkeypatch.setattr(module, name, lambda *_: None)
    monkeypatch.setattr(pipeline_run, "reproduce", reproduce)
