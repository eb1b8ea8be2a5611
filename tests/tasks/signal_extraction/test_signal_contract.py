"""The task keeps the contract of all tasks, in both settings."""

from pathlib import Path

import pytest
from tests import contracts
from tests.small_signals import small_params

from plumbline.tasks.signal_extraction.task import TASK


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("recipe", ["signal_extraction", "signal_extraction_course"])
def test_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert contracts.is_record(TASK)
    contracts.check(small_params(recipe), TASK, "fir")
