"""Recorded answers of real models through the real stages: what is refused, and why."""

import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.support.checkouts import ROOT
from tests.support.development import DATA

from plumbline.contract import layout
from plumbline.contract.errors import RefusedError
from plumbline.contract.loading import load_task
from plumbline.contract.yaml_file import load_yaml
from plumbline.entrypoint import run_stage
from plumbline.process.files import read_json, write_json
from tasks.answer_consensus.params import ConsensusParams

RECORDED = DATA / "recorded_answers"
RECIPE = ROOT / "recipes/recorded_answers.yaml"
SOURCE = "data/raw/answers.parquet"
CHARS_A_TOKEN = 4
# By name: what it is recorded as, its model, and the price of 1000 tokens in $; one is strong.
AGENTS = {
    "gpt4": ("gpt4_COT", "gpt4", 0.06),
    "gpt-3-5": ("gpt-3.5-turbo_COT", "gpt-3.5-turbo", 0.002),
    "code": ("code002_COT", "code002", 0.02),
    "text": ("text002_noNL", "text002", 0.02),
    "text-nl-sl": ("text002_NL+SL", "text002", 0.02),
}
CANDIDATES = {
    "single": {"kind": "single"},
    "plurality": {"kind": "plurality"},
    # Asks everyone: a vote, not a cascade.
    "logit": {"kind": "logit", "order": "cheap_first", "stop_at": 1.0, "subsets": 4, "ridge": 1e-3},
}


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.filterwarnings("ignore")  # of MLflow and Great Expectations, in this process
@pytest.mark.skipif(
    not RECORDED.is_dir(), reason="PLUMBLINE_TEST_DATA names no folder with recorded_answers/"
)
def test_a_learned_vote_of_them_keeps_the_best_single_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "--quiet"], check=True)
    write_source()
    values = build_values()
    write_json(layout.PARAMS, values)  # which is YAML too
    params = ConsensusParams.model_validate(values)
    task = load_task(params.task)
    stages = [("ingest", None), ("validate", None), *(("train", name) for name in CANDIDATES)]
    for stage, name in [*stages, ("control", "logit"), ("evaluate", None)]:
        run_stage(stage, params, task, name)
    with pytest.raises(RefusedError):
        run_stage("register", params, task)
    evidence = read_json(layout.EVIDENCE)
    test = {name: one["test"]["accuracy"] for name, one in evidence["candidates"].items()}
    assert test["logit"] >= test["single"] > test["plurality"] + 0.01
    assert evidence["winner"] == "single"  # it is as good, and cheaper
    (baselines,) = [gate for gate in evidence["gates"] if gate["name"] == "baselines"]
    assert baselines["status"] == "fail"
    assert baselines["reason"].startswith("+0.0000 over best_single")


def write_source() -> None:
    """Write one row for each question of GSM8K and agent."""
    rows = pd.read_parquet(RECORDED / "answers.parquet")
    recorded = [recorded_as for recorded_as, _, _ in AGENTS.values()]
    rows = rows[(rows["dataset"] == "GSM8K") & rows["agent"].isin(recorded)]
    joined = rows.merge(pd.read_parquet(RECORDED / "questions.parquet"), on=["dataset", "id"])
    # An empty answer may be billed; an answer is never for nothing.
    tokens = (joined["chars"].fillna(0) / CHARS_A_TOKEN).round().astype(int).clip(lower=1)
    table = joined[["question", "agent"]].assign(
        question_id=joined["id"],
        gold=joined["gold"].astype(str),
        answer=joined["answer"].fillna("").astype(str),
        tokens=tokens,
    )
    Path(SOURCE).parent.mkdir(parents=True)
    table.to_parquet(SOURCE, index=False)


def build_values() -> dict[str, Any]:
    """The recipe for these agents at list prices; whatever they cost may be spent."""
    values: dict[str, Any] = load_yaml(RECIPE)
    agents = {
        name: {"recorded_as": recorded_as, "sample": 0, "model": model, "price": price}
        for name, (recorded_as, model, price) in AGENTS.items()
    }
    values["data"] |= {"source": SOURCE, "agents": agents, "mean_cost": 1.0}
    values["candidates"] = CANDIDATES
    values["evaluation"]["budget"]["cost"] = 1.0
    return values
