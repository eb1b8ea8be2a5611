"""A setting that is missed before the first stage begins, and what ended a stage."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.signing_keys import write_keys

from plumbline import pipeline_run
from plumbline.contract.errors import ParamsError
from plumbline.pipeline_run import require_settings
from plumbline.pipeline_run.reproduction import RunRequest
from plumbline.pipeline_run.stage_lines import StageError
from plumbline.process import dvc_lock

SETTINGS = {
    "journal": {"MLFLOW_TRACKING_URI": "http://127.0.0.1:9"},
    "private key": {"PLUMBLINE_PRIVATE_KEY": "nowhere.pem"},
    "public key for private": {"PLUMBLINE_PRIVATE_KEY": "ours.pub"},
    "empty private key": {"PLUMBLINE_PRIVATE_KEY": ""},
    "public key": {"PLUMBLINE_PUBLIC_KEY": "nowhere.pub"},
}


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_keys(tmp_path))
    for key in ("MLFLOW_TRACKING_URI", "PLUMBLINE_JOURNAL_URI"):
        monkeypatch.delenv(key, raising=False)


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_missing_or_wrong_is_named(
    name: str, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in SETTINGS[name].items():
        monkeypatch.setenv(key, value)
    for targets in ((), ("train", "register"), ("dvc.yaml",), ("dvc.yaml:evaluate",)):
        with pytest.raises(ParamsError, match=r"PLUMBLINE_\w+|nowhere|ours\.pub"):
            require_settings(targets)
    require_settings(("ingest", "train"))  # which need none of it


def test_what_can_be_used_stops_nothing(keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    require_settings(())
    monkeypatch.setenv("PLUMBLINE_PRIVATE_KEY", "ours.pem")
    monkeypatch.setenv("PLUMBLINE_PUBLIC_KEY", "ours.pub")
    require_settings(())


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
