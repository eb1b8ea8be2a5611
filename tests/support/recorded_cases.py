"""Recorded answers of real language models in long form, and the recipe that reads them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.checkouts import ROOT
from tests.support.development import DATA

from plumbline.contract.yaml_file import load_yaml

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


def list_agents(datasets: Sequence[str]) -> list[str]:
    """The agents that were asked in all of `datasets`."""
    import pandas as pd

    rows = pd.read_parquet(RECORDED / "answers.parquet", columns=["dataset", "agent"])
    counts = rows[rows["dataset"].isin(datasets)].groupby("agent")["dataset"].nunique()
    return sorted(counts[counts == len(datasets)].index)


def write_source(path: Path, datasets: Sequence[str], agents: Sequence[str]) -> None:
    """Write one row for each question and agent."""
    import pandas as pd

    rows = pd.read_parquet(RECORDED / "answers.parquet")
    rows = rows[rows["dataset"].isin(datasets) & rows["agent"].isin(agents)]
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


def build_values(
    agents: Sequence[str], candidates: dict[str, Any], topic: str | None = None
) -> dict[str, Any]:
    """The recipe for these agents at list prices; whatever they cost may be spent."""
    values: dict[str, Any] = load_yaml(RECIPE)
    values["data"] |= {
        "source": "data/raw/answers.parquet",
        "agents": {_name(agent): _describe(agent) for agent in agents},
        "mean_cost": 1.0,
    }
    values["data"]["columns"]["topic"] = topic
    values["candidates"] = candidates
    learned = [name for name, one in candidates.items() if one["kind"] == "logit"]
    values["control"]["candidates"] = learned
    values["evaluation"]["simple_candidate"] = "single" if "single" in candidates else None
    values["evaluation"]["budget"]["cost"] = 1.0
    return values


def _name(agent: str) -> str:
    return agent.lower().replace("+", "-").replace(".", "-")


def _describe(agent: str) -> dict[str, Any]:
    price = next(price for start, price in PRICES.items() if agent.startswith(start))
    model = agent.rpartition("_")[0] or agent
    return {"recorded_as": agent, "sample": 0, "model": model, "price": price}
