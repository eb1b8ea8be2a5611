"""The task keeps the contract of all tasks."""

from pathlib import Path

import pytest
from tests.support import task_contract
from tests.support.small_signals import small_params

from tasks.signal_extraction.task import TASK


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert task_contract.is_record(TASK)
    task_contract.check(small_params(), TASK, "fir")
