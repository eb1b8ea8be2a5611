"""`seeds` in params.yaml: who may have it, and where the trainings of a candidate are."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.checkouts import ROOT

from plumbline.contract import trainings
from plumbline.contract.errors import ParamsError
from plumbline.contract.loading import load_params
from plumbline.contract.params import Params
from plumbline.contract.yaml_file import load_yaml
from plumbline.process.files import write_json


def load_changed(folder: Path, recipe: str, candidate: str, **changes: Any) -> Params:
    """Load a recipe with other values of one candidate; its file is JSON, which is YAML too."""
    values = load_yaml(ROOT / "recipes" / f"{recipe}.yaml")
    values["candidates"][candidate] |= changes
    path = folder / "params.yaml"
    write_json(path, values)
    return load_params(path)


@pytest.mark.parametrize(
    ("recipe", "candidate"),
    [
        ("label_sets", "transformer"),
        ("imdb", "ensemble"),
        ("signal_extraction", "film"),
    ],
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
