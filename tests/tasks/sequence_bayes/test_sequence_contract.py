"""The task keeps the contract of all tasks, for each kind of data."""

from pathlib import Path

import pytest
from tests.support import task_contract
from tests.support.small_sequences import KINDS, build_params

from tasks.sequence_bayes.task import TASK


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert task_contract.is_record(TASK)
    task_contract.check(build_params(kind), TASK, "rule")
