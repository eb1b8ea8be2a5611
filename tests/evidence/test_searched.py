"""Evidence says how many trials chose the values of a candidate."""

from pathlib import Path

from tests.support.checkouts import RECIPE

from plumbline.contract.loading import load_params
from plumbline.evidence.judge import list_searched


def test_the_trials_of_each_searched_candidate_are_listed(tmp_path: Path) -> None:
    text = RECIPE.read_text(encoding="utf-8")
    path = tmp_path / "params.yaml"
    path.write_text(text.replace("    search:", "    trials: 20\n    search:", 1), encoding="utf-8")
    assert list_searched(load_params(path)) == {"linear": 20}
    assert list_searched(load_params(RECIPE)) == {}
