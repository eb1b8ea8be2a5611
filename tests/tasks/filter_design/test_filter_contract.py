"""The task keeps the contract of all tasks."""

from pathlib import Path

import pytest
from tests.support import task_contract
from tests.support.small_filters import list_values

from tasks.filter_design.params import FilterParams
from tasks.filter_design.task import TASK


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert task_contract.is_record(TASK)
    values = list_values()
    values["data"]["generated"]["rows"] = {"train": 40, "validation": 25, "test": 40}
    task_contract.check(FilterParams.model_validate(values), TASK, "textbook")
