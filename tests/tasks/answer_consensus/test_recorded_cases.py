"""Recorded answers of real models through the real stages: what is refused, and why."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML
from tests.support.checkouts import ROOT
from tests.support.development import DATA

from plumbline.contract import layout
from plumbline.contract.errors import RefusedError
from plumbline.contract.loading import load_task
from plumbline.contract.yaml_file import load_yaml
from plumbline.entrypoint import run_stage
from plumbline.process.files import read_json
from tasks.answer_consensus.params import ConsensusParams

RECORDED = DATA / "recorded_answers"
RECIPE = ROOT / "recipes/recorded_answers.yaml"
CHARS_A_TOKEN = 4
PRICES = {"gpt4": 0.06, "gpt-3.5-turbo": 0.002, "text": 0.02, "code": 0.02}  # $ of 1000 tokens
ONE_STRONG = ("gpt4_COT", "gpt-3.5-turbo_COT", "code002_COT", "text002_noNL", "text002_NL+SL")
# Asks everyone: a vote, not a cascade.
LEARNED_VOTE = {
    "kind": "logit",
    "order": "cheap_first",
    "stop_at": 1.0,
    "subsets": 4,
    "ridge": 1e-3,
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.shared,
    pytest.mark.filterwarnings("ignore"),  # of MLflow and Great Expectations, in this process
    pytest.mark.skipif(
        not RECORDED.is_dir(),
        reason="PLUMBLINE_TEST_DATA names no folder with recorded_answers/",
    ),
]


def run_pipeline(dataset: str, agents: Sequence[str], candidates: dict[str, Any]) -> dict[str, Any]:
    """Run all stages in the current folder; they refuse. Returns the evidence."""
    subprocess.run(["git", "init", "--quiet"], check=True)
    write_source(Path("data/raw/answers.parquet"), dataset, agents)
    values = build_values(agents, candidates)
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


def test_a_learned_vote_of_them_keeps_the_best_single_agent() -> None:
    candidates = {
        "single": {"kind": "single"},
        "plurality": {"kind": "plurality"},
        "logit": LEARNED_VOTE,
    }
    evidence = run_pipeline("GSM8K", ONE_STRONG, candidates)
    test = {name: one["test"]["accuracy"] for name, one in evidence["candidates"].items()}
    assert test["logit"] >= test["single"] > test["plurality"] + 0.01
    assert evidence["winner"] == "single"  # it is as good, and cheaper
    assert get_reason(evidence, "baselines").startswith("+0.0000 over best_single")


def write_source(path: Path, dataset: str, agents: Sequence[str]) -> None:
    """Write one row for each question and agent."""
    rows = pd.read_parquet(RECORDED / "answers.parquet")
    rows = rows[(rows["dataset"] == dataset) & rows["agent"].isin(agents)]
    questions = pd.read_parquet(RECORDED / "questions.parquet")
    joined = rows.merge(questions, on=["dataset", "id"])
    # An empty answer may be billed; an answer is never for nothing.
    tokens = (joined["chars"].fillna(0) / CHARS_A_TOKEN).round().astype(int).clip(lower=1)
    table = pd.DataFrame(
        {
            "question_id": joined["dataset"] + " " + joined["id"],
            "question": joined["question"],
            "gold": joined["gold"].astype(str),
            "agent": joined["agent"],
            "answer": joined["answer"].fillna("").astype(str),
            "tokens": tokens,
            "dataset": joined["dataset"],
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(path, index=False)


def build_values(agents: Sequence[str], candidates: dict[str, Any]) -> dict[str, Any]:
    """The recipe for these agents at list prices; whatever they cost may be spent."""
    values: dict[str, Any] = load_yaml(RECIPE)
    values["data"] |= {
        "source": "data/raw/answers.parquet",
        "agents": {_name(agent): _describe(agent) for agent in agents},
        "mean_cost": 1.0,
    }
    values["data"]["columns"]["topic"] = None
    values["candidates"] = candidates
    learned = [name for name, one in candidates.items() if one["kind"] == "logit"]
    values["control"]["candidates"] = learned
    values["evaluation"]["simple_candidate"] = "single"
    values["evaluation"]["budget"]["cost"] = 1.0
    return values


def _name(agent: str) -> str:
    return agent.lower().replace("+", "-").replace(".", "-")


def _describe(agent: str) -> dict[str, Any]:
    price = next(price for start, price in PRICES.items() if agent.startswith(start))
    model = agent.rpartition("_")[0] or agent
    return {"recorded_as": agent, "sample": 0, "model": model, "price": price}
