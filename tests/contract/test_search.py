"""`search` in params.yaml: what it allows, and what is said of what it does not."""

from pathlib import Path

import pytest
from tests.support.checkouts import RECIPE

from plumbline.contract.errors import ParamsError
from plumbline.contract.loading import load_params
from plumbline.evidence.judge import list_searched
from plumbline.tuning.space import configure, read_values


def write_params(folder: Path, search: str) -> Path:
    """Write the shipped params with `search` as what linear searches."""
    text = RECIPE.read_text(encoding="utf-8")
    head, _, rest = text.partition("  minilm:\n")
    own = head.index("    search:") if "    search:" in head else len(head)
    path = folder / "params.yaml"
    path.write_text(f"{head[:own]}    search: {search}\n  minilm:\n{rest}", encoding="utf-8")
    return path


def test_a_search_is_no_value_of_the_candidate(tmp_path: Path) -> None:
    path = write_params(tmp_path, "{learning_rate: {low: 1.0e-3, high: 0.5, log: true}}")
    config = load_params(path).candidates["linear"]
    assert config.search["learning_rate"].log
    assert not {"search", "trials"} & config.model_dump().keys()


def test_a_key_that_the_file_leaves_out_can_be_searched(tmp_path: Path) -> None:
    space = "{label_smoothing: {low: 0.0, high: 0.2}, class_weights: {choices: [none, balanced]}}"
    params = load_params(write_params(tmp_path, space))
    assert read_values(params, "linear") == {"label_smoothing": 0.0, "class_weights": "none"}
    changed = configure(params, "linear", {"class_weights": "balanced"}, seed=1)
    assert changed.candidates["linear"].class_weights == "balanced"
    with pytest.raises(ParamsError, match="-1 cannot be its value"):
        load_params(write_params(tmp_path, "{label_smoothing: {low: -1, high: 0.2}}"))


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ("{learning_rat: {low: 0.1, high: 0.5}}", "did you mean learning_rate"),
        ("{kind: {choices: [linear, transformer]}}", "not a key that can be searched"),
        ("{learning_rate: {low: 0, high: 0.5}}", "0 cannot be its value: Input should be greater"),
        ("{learning_rate: {low: 0.5, high: 0.1}}", "low (0.5) must be less than high (0.1)"),
        ("{learning_rate: {low: 0.1, high: 0.5}}", "does not include the value of learning_rate"),
        ("{batch_size: {choices: [64, 64]}}", "a choice is named twice"),
        ("{batch_size: {choices: [64, 32], log: true}}", "choices go without low, high and log"),
        ("{batch_size: {low: 16, hihg: 64}}", "search.batch_size.hihg: unknown key"),
        ("{weight_decay: {low: 0, high: 1, log: true}}", "a log scale needs a low above 0"),
    ],
)
def test_a_search_is_checked_as_strictly_as_the_values(
    tmp_path: Path, search: str, message: str
) -> None:
    with pytest.raises(ParamsError) as caught:
        load_params(write_params(tmp_path, search))
    assert message in str(caught.value)


def test_the_trials_of_each_searched_candidate_are_listed(tmp_path: Path) -> None:
    text = RECIPE.read_text(encoding="utf-8")
    path = tmp_path / "params.yaml"
    path.write_text(text.replace("    search:", "    trials: 20\n    search:", 1), encoding="utf-8")
    assert list_searched(load_params(path)) == {"linear": 20}
    assert list_searched(load_params(RECIPE)) == {}
