"""`search` and `seeds` in params.yaml: who may have them, and what is said of others."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.checkouts import RECIPE, ROOT

from plumbline.contract import trainings
from plumbline.contract.errors import ParamsError
from plumbline.contract.loading import load_params
from plumbline.contract.params import Params
from plumbline.contract.yaml_file import load_yaml
from plumbline.evidence.judge import list_searched
from plumbline.process.files import write_json
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


def load_changed(folder: Path, recipe: str, candidate: str, **changes: Any) -> Params:
    """Load a recipe with other values of one candidate; its file is JSON, which is YAML too."""
    values = load_yaml(ROOT / "recipes" / f"{recipe}.yaml")
    values["candidates"][candidate] |= changes
    path = folder / "params.yaml"
    write_json(path, values)
    return load_params(path)


@pytest.mark.parametrize(
    ("recipe", "candidate"),
    [("label_sets", "transformer"), ("imdb", "ensemble"), ("signal_extraction", "film")],
)
def test_whoever_learns_by_gradient_may_have_seeds(
    recipe: str, candidate: str, tmp_path: Path
) -> None:
    without = load_changed(tmp_path, recipe, candidate)
    assert "seeds" not in without.candidates[candidate].model_dump()
    assert trainings.list_trainings(without, candidate) == {without.seed: candidate}
    params = load_changed(tmp_path, recipe, candidate, seeds=3)
    assert params.candidates[candidate].model_dump()["seeds"] == 3
    first = params.seed
    assert trainings.list_trainings(params, candidate) == {
        first: candidate,
        first + 1: f"{candidate}.seeds/{first + 1}",
        first + 2: f"{candidate}.seeds/{first + 2}",
    }


@pytest.mark.parametrize(
    ("recipe", "candidate", "changes", "message"),
    [
        ("signal_extraction", "fir", {"seeds": 3}, "seeds"),  # closed form
        ("text_classification", "linear", {"seeds": 2}, "greater than or equal to 3"),
        ("text_classification", "linear", {"seeds": 26}, "less than or equal to 25"),
        (
            "text_classification",
            "linear",
            {"search": {"seeds": {"choices": [3, 5]}}},
            "search.seeds: not a key that can be searched",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    recipe: str, candidate: str, changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ParamsError, match=message):
        load_changed(tmp_path, recipe, candidate, **changes)


def test_an_ensemble_has_its_seeds_beside_its_members(tmp_path: Path) -> None:
    member = load_yaml(ROOT / "recipes/imdb.yaml")["candidates"]["ensemble"]["member"]
    with pytest.raises(ParamsError, match="write seeds beside members"):
        load_changed(tmp_path, "imdb", "ensemble", member=member | {"seeds": 3})
