"""That a disk is full is said once: what failed has said so."""

import errno
from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.support.failing_stage import replace_reproduction

from plumbline import pipeline_run
from plumbline.pipeline_run import dvc_lock, repair
from plumbline.pipeline_run.reproduction import RunRequest, StageError


@pytest.mark.parametrize(
    ("number", "has_failed", "is_said"),
    [(errno.ENOSPC, True, False), (errno.ENOSPC, False, True), (errno.EIO, True, True)],
)
@pytest.mark.parametrize("writer", [(dvc_lock, "keep_copy"), (repair, "repair_outputs")])
def test_a_failed_run_does_not_say_again_that_the_disk_is_full(
    writer: tuple[object, str],
    number: int,
    has_failed: bool,
    is_said: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_running = False

    def reproduce(request: RunRequest) -> None:
        nonlocal is_running
        is_running = True
        if has_failed:
            raise StageError("train", 1)

    def fail(**options: object) -> list[str]:
        if is_running:
            raise OSError(number, "not written")
        return []

    monkeypatch.chdir(tmp_path)
    replace_reproduction(monkeypatch, reproduce)
    monkeypatch.setattr(*writer, fail)
    with pytest.raises(OSError, match="not written") if is_said else nullcontext():
        assert pipeline_run.run(RunRequest()) == 1
