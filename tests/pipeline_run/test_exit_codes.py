"""What ended a stage, and with which exit code: a signal, a crash, or the stage itself."""

import signal
from pathlib import Path

import pytest
from tests.support.failing_stage import replace_reproduction

from plumbline import pipeline_run
from plumbline.pipeline_run.reproduction import RunRequest, StageError


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
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def reproduce(request: RunRequest) -> None:
        raise StageError("train", ended)

    monkeypatch.chdir(tmp_path)
    replace_reproduction(monkeypatch, reproduce)
    assert pipeline_run.run(RunRequest()) == code
    assert said in capsys.readouterr().err
