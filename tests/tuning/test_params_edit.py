"""Values are written into params.yaml, and nothing else of it changes."""

from pathlib import Path

import pytest
import yaml
from tests.support.checkouts import LINE

from plumbline.cli.tune import apply_values
from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.contract.yaml_file import load_yaml
from plumbline.tuning.params_edit import edit_candidate, format_scalar

BLOCK = """seed: null
candidates:
  small:   # the first
    rate: 0.05        # of Adam
    size: 3
    search: {rate: {low: 0.001, high: 0.5}}
  other: {rate: 0.05, search: {}}
"""


def test_comments_stay_and_a_new_key_stands_before_the_search(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(BLOCK, encoding="utf-8")
    edit_candidate(path, "small", {"rate": 1e-05, "trials": 20}, anchor="search")
    expected = BLOCK.replace("rate: 0.05        # of", "rate: 1.0e-05     # of").replace(
        "    search:", "    trials: 20\n    search:", 1
    )
    assert path.read_text(encoding="utf-8") == expected
    assert load_yaml(path)["candidates"]["small"]["rate"] == 1e-05


@pytest.mark.parametrize("value", [1.51e-06, -2e-07, 1e-05, 3.5, 1e22, 20])
def test_a_number_is_read_back_as_it_was(value: float) -> None:
    assert yaml.safe_load(format_scalar(value)) == value


def test_a_new_key_in_braces(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(BLOCK, encoding="utf-8")
    edit_candidate(path, "other", {"trials": 4}, anchor="search")
    assert "  other: {rate: 0.05, trials: 4, search: {}}\n" in path.read_text(encoding="utf-8")


def test_a_missing_key_without_a_place_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(BLOCK, encoding="utf-8")
    with pytest.raises(ParamsError, match=r"candidates\.small\.depth: missing"):
        edit_candidate(path, "small", {"depth": 4})
    assert path.read_text(encoding="utf-8") == BLOCK


def test_what_was_edited_during_a_search_is_read_again(line_task: tuple[Params, Task]) -> None:
    text = (LINE / "params.yaml").read_text(encoding="utf-8")
    path = Path("params.yaml")
    path.write_text(text.replace("gradient: {", "slow: {"), encoding="utf-8")
    with pytest.raises(ParamsError, match=r"candidates\.gradient: not in params\.yaml"):
        apply_values("gradient", {"learning_rate": 0.1})
    path.write_text(text.replace("max_epochs: 4", "max_epochs: 4, search: {}"), encoding="utf-8")
    with pytest.raises(ParamsError, match=r"candidates\.gradient\.learning_rate"):
        apply_values("gradient", {"learning_rate": "fast"})
