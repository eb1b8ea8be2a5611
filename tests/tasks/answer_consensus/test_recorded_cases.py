"""Recorded answers of real models through the real stages: what is refused, and why."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.support import recorded_cases
from tests.support.recorded_cases import LEARNED_VOTE, ONE_STRONG

from plumbline.contract import layout
from plumbline.contract.errors import RefusedError
from plumbline.contract.loading import load_task
from plumbline.entrypoint import run_stage
from plumbline.process.files import read_json
from tasks.answer_consensus.params import ConsensusParams

pytestmark = [
    pytest.mark.slow,
    pytest.mark.shared,
    pytest.mark.filterwarnings("ignore"),  # of MLflow and Great Expectations, in this process
    pytest.mark.skipif(
        not recorded_cases.RECORDED.is_dir(),
        reason="PLUMBLINE_TEST_DATA names no folder with recorded_answers/",
    ),
]
SINGLE, PLURALITY = {"kind": "single"}, {"kind": "plurality"}


def run_pipeline(
    datasets: Sequence[str],
    agents: Sequence[str],
    candidates: dict[str, Any],
    with_control: bool = True,
) -> dict[str, Any]:
    """Run all stages in the current folder; they refuse. Returns the evidence."""
    subprocess.run(["git", "init", "--quiet"], check=True)
    recorded_cases.write_source(Path("data/raw/answers.parquet"), datasets, agents)
    topic = "dataset" if len(datasets) > 1 else None
    values = recorded_cases.build_values(agents, candidates, topic)
    if not with_control:
        values["control"]["candidates"] = []
    with layout.PARAMS.open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(values, file)
    params = ConsensusParams.model_validate(values)
    task = load_task(params.task)
    run_stage("ingest", params, task)
    run_stage("validate", params, task)
    for name in candidates:
        run_stage("train", params, task, name)
    for name in params.control.candidates:
        run_stage("control", params, task, name)
    run_stage("evaluate", params, task)
    with pytest.raises(RefusedError):
        run_stage("register", params, task)
    evidence: dict[str, Any] = read_json(layout.EVIDENCE)
    return evidence


def get_reason(evidence: dict[str, Any], gate: str) -> str:
    """Why a gate that has to fail failed."""
    (ruling,) = [one for one in evidence["gates"] if one["name"] == gate]
    assert ruling["status"] == "fail", ruling
    return str(ruling["reason"])


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_plurality_of_one_strong_and_four_weak_agents_is_refused() -> None:
    evidence = run_pipeline(("GSM8K",), ONE_STRONG, {"plurality": PLURALITY})
    assert get_reason(evidence, "baselines").startswith("-0.01")
    assert "over best_single (0.92" in get_reason(evidence, "baselines")


def test_a_learned_vote_of_them_keeps_the_best_single_agent() -> None:
    candidates = {"single": SINGLE, "plurality": PLURALITY, "logit": LEARNED_VOTE}
    evidence = run_pipeline(("GSM8K",), ONE_STRONG, candidates)
    test = {name: one["test"]["accuracy"] for name, one in evidence["candidates"].items()}
    assert test["logit"] >= test["single"] > test["plurality"] + 0.01
    assert evidence["winner"] == "single"  # it is as good, and cheaper
    assert get_reason(evidence, "baselines").startswith("+0.0000 over best_single")


def test_a_learned_vote_of_thirty_agents_beats_one_agent_and_their_plurality() -> None:
    """It does not beat the best few of them, which train names: so nothing is promoted."""
    datasets = ("GSM8K", "SVAMP")
    candidates = {"single": SINGLE, "plurality": PLURALITY, "logit": LEARNED_VOTE}
    agents = recorded_cases.list_agents(datasets)
    # A control would be scored on all rows too; the case before has one.
    evidence = run_pipeline(datasets, agents, candidates, with_control=False)
    test = {name: one["test"]["accuracy"] for name, one in evidence["candidates"].items()}
    assert test["logit"] > test["single"] + 0.01
    assert test["logit"] > test["plurality"] + 0.03
    assert evidence["winner"] == "single"
    assert "single costs least" in evidence["choice"]["reason"]
    assert "over plurality (0.9586)" in get_reason(evidence, "baselines")
    assert "SVAMP" in get_reason(evidence, "leakage")
