"""A stage that a second Ctrl-C ends as it stops is interrupted, not killed."""

import signal
from pathlib import Path

import pytest
from tests.support.failing_stage import replace_reproduction

from plumbline import door
from plumbline.door.reproduction import RunRequest, StageError


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, "stopped at train (exit code 130)"),
        (signal.SIGTERM, 143, "stopped at train (exit code 143)"),
        (signal.SIGKILL, 137, "train was killed; the same command continues"),
    ],
)
def test_the_exit_code_is_that_of_the_signal(
    number: int,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def reproduce(request: RunRequest) -> None:
        raise StageError("train", -number)

    monkeypatch.chdir(tmp_path)
    replace_reproduction(monkeypatch, reproduce)
    assert door.run(RunRequest()) == code
    assert said in capsys.readouterr().err
