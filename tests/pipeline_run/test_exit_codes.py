"""What ended a stage, and with which exit code: a signal, a crash, or the stage itself."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from plumbline import pipeline_run
from plumbline.pipeline_run.reproduction import RunRequest
from plumbline.pipeline_run.stage_lines import StageError
from plumbline.process import dvc_lock


@pytest.mark.parametrize(
    ("ended", "code", "said"),
    [
        (-signal.SIGINT, 130, "stopped at train (exit code 130)"),  # a second Ctrl-C
        (-signal.SIGTERM, 143, "stopped at train (exit code 143); the same command continues"),
        (-signal.SIGKILL, 137, "train was killed; the same command continues"),
        (137, 137, "train was killed; the same command continues"),  # as a shell says it
        (-signal.SIGABRT, 134, "train crashed (SIGABRT): what failed is a library, or memory;"),
        (139, 139, "train crashed (SIGSEGV): what failed is a library, or memory;"),
        (2, 2, "stopped at train (exit code 2), which says above why; correct that, then run"),
        (20, 20, "the model is refused, and no version was registered. Do what is said above"),
    ],
)
def test_the_end_of_a_stage_is_named(
    ended: int,
    code: int,
    said: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def reproduce(request: RunRequest) -> None:
        raise StageError("train", ended)

    replace_reproduction(monkeypatch, reproduce)
    assert pipeline_run.run(RunRequest()) == code
    assert said in capsys.readouterr().err


def replace_reproduction(
    monkeypatch: pytest.MonkeyPatch, reproduce: Callable[[RunRequest], None]
) -> None:
    """Let `reproduce` be what DVC does; nothing is wrong before it."""
    for module, name in (
        (pipeline_run, "load_params"),
        (pipeline_run, "require_settings"),
        (dvc_lock, "check_files"),
        (pipeline_run.local_files, "require_local_models"),
    ):
        monkeypatch.setattr(module, name, lambda *_: None)
    monkeypatch.setattr(pipeline_run, "reproduce", reproduce)
