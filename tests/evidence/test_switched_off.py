"""A gate that cannot fail is listed with the reason, whatever made it so."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support import evidence as written

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.contract.yaml_file import load_yaml
from plumbline.evidence.compare import Slice, compare_slices
from plumbline.evidence.gates.switched_off import find_switched_off
from plumbline.process.files import read_json, write_json
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK
from tasks.answer_consensus.params import ConsensusParams
from tasks.answer_consensus.task import TASK as AGENTS

RECIPES = Path(__file__).parents[2] / "recipes"
ACCURACY = TASK.metric
BASELINES = {"majority": 0.17}
CHECKS = {"nulls": "blocking", "noise": "warning"}


def change(**changes: Any) -> Params:
    """Params of the recipe, but for these keys of `evaluation`."""
    values: Any = load_yaml(RECIPES / "text_classification.yaml")
    values["evaluation"] |= changes
    return TextParams.model_validate(values)


def compare_groups(num_groups: int, num_rows: int, params: Params) -> list[Slice]:
    """Groups in each of which the winner answers nothing, and the reference half of the rows."""
    rows = pd.DataFrame({"day": np.repeat(np.arange(num_groups), num_rows)})
    ours = np.zeros(len(rows))
    theirs = np.arange(len(rows)) % 2.0
    return compare_slices(rows, ours, "the champion", theirs, ACCURACY, params.evaluation)


def find(params: Params, slices: list[Slice] | None = None, **facts: Any) -> dict[str, str]:
    given: dict[str, Any] = {
        "baselines": BASELINES,
        "weak": [],
        "checks": CHECKS,
        "cost": {},
    } | facts
    return find_switched_off(params, ACCURACY, slices=slices or [], **given)


def test_a_shipped_recipe_switches_nothing_off() -> None:
    params = change(slices=["day"])
    assert find(params, compare_groups(10, 100, params)) == {}


def test_where_no_check_blocks_any_data_are_accepted() -> None:
    reasons = find(change(), checks=dict.fromkeys(CHECKS, "warning"))
    assert reasons == {"accepted": "each of 2 checks of the data only warns"}


@pytest.mark.parametrize("num_rows", [2, 6, 12])
def test_groups_in_which_no_loss_is_significant_are_listed(num_rows: int) -> None:
    params = change(slices=["day"], min_slice_rows=2)
    slices = compare_groups(70, num_rows, params)
    assert list(find(params, slices)) == ["slices"]
    assert "none of 50 groups" in find(params, slices)["slices"]


def test_one_group_that_shows_a_loss_is_enough() -> None:
    params = change(slices=["day"], min_slice_rows=2)
    slices = compare_groups(2, 4, params) + compare_groups(1, 400, params)
    assert find(params, slices) == {}


def test_a_floor_that_asks_for_no_more_than_the_gate_baselines_is_listed() -> None:
    reasons = find(change(floor=0.2))
    assert reasons == {"floor": "evaluation.floor is 0.2, and the gate baselines asks for 0.2530"}
    assert find(change(floor=0.3)) == {}


@pytest.mark.parametrize(("limit", "is_listed"), [(1e12, True), (0.5, True), (0.0125, False)])
def test_an_answer_that_may_cost_a_hundred_times_as_much_has_no_limit(
    limit: float, is_listed: bool
) -> None:
    values: Any = load_yaml(RECIPES / "answer_consensus.yaml")
    values["evaluation"]["budget"]["cost"] = limit
    params = ConsensusParams.model_validate(values)
    facts: dict[str, Any] = {
        "baselines": BASELINES,
        "weak": [],
        "checks": CHECKS,
        "slices": [],
        "cost": {"answer": 0.004},
    }
    reasons = find_switched_off(params, AGENTS.metric, **facts)
    assert ("budget" in reasons) == is_listed


@pytest.mark.parametrize("spread", [0.12, 1.2, 30.0])
def test_a_control_and_a_simple_candidate_that_learn_nothing_are_listed(
    line_task: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch, spread: float
) -> None:
    """A gate that compares with them passes whatever the winner is."""
    params, task = line_task
    params = params.model_copy(
        update={
            "evaluation": params.evaluation.model_copy(update={"simple_candidate": "gradient"}),
            "control": params.control.model_copy(update={"candidates": ["gradient"]}),
        }
    )
    errors = written.ERRORS | {"gradient": spread, "control.gradient": 1.2}
    monkeypatch.setattr(written, "ERRORS", errors)
    for name in (written.WINNER, layout.name_control("gradient")):
        folder = layout.locate_bundle(name)
        folder.mkdir(parents=True)
        (folder / "weights.json").write_text("{}", encoding="utf-8")
        bundle.seal(folder, task, name)
    write_json(layout.GOLDEN, {})
    written.write_evidence(params, task)
    evidence = read_json(layout.EVIDENCE)
    why = "not significantly better than the best baseline"
    expected = {
        "baselines": f"evaluation.simple_candidate is gradient, {why}",
        "control": f"control.candidates names gradient, {why}",
    }
    listed = {gate: evidence["switched_off"].get(gate) for gate in expected}
    assert listed == (expected if spread > 1 else dict.fromkeys(expected))


def test_a_simple_candidate_without_a_learning_rate_may_be_a_baseline() -> None:
    """As the best single agent is, or the textbook's search."""
    values: Any = load_yaml(RECIPES / "answer_consensus.yaml")
    params = ConsensusParams.model_validate(values)
    facts: dict[str, Any] = {"baselines": BASELINES, "checks": CHECKS, "slices": [], "cost": {}}
    reasons = find_switched_off(params, AGENTS.metric, weak=["single"], **facts)
    assert "baselines" not in reasons


def test_one_control_that_learns_is_enough() -> None:
    values: Any = load_yaml(RECIPES / "text_classification.yaml")
    values["control"]["candidates"] = names = list(values["candidates"])[:2]
    params = TextParams.model_validate(values)
    assert "control" not in find(params, weak=names[:1])
    assert find(params, weak=names)["control"].startswith(f"control.candidates names {names[0]}, ")
