"""Each task outside of the package keeps the contract of all tasks."""

from pathlib import Path

import pytest
from tests.support import (
    small_answers,
    small_filters,
    small_sequences,
    small_signals,
    task_contract,
)

from plumbline.contract.loading import load_task
from tasks.filter_design.params import FilterParams

pytestmark = pytest.mark.filterwarnings("ignore")
slow = pytest.mark.slow
FILTERS = small_filters.list_values()
FILTERS["data"]["generated"]["rows"] = {"train": 40, "validation": 25, "test": 40}


@pytest.mark.parametrize(
    ("params", "candidate"),
    [
        pytest.param(FilterParams.model_validate(FILTERS), "textbook", marks=slow),
        pytest.param(small_answers.small_params(), "logit", marks=slow),
        pytest.param(small_signals.small_params(), "fir", marks=slow),
        (small_sequences.build_params("dice"), "rule"),
        (small_sequences.build_params("coins"), "rule"),
    ],
    ids=lambda value: getattr(value, "task", value),
)
def test_the_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, params: object, candidate: str
) -> None:
    monkeypatch.chdir(tmp_path)
    task = load_task(params.task)  # type: ignore[attr-defined]  # a task's own
    task_contract.check(params, task, candidate)  # type: ignore[arg-type]
