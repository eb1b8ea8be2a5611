"""Queries that a search answers in seconds: parameters, a file of pairs, and a tiny encoder."""

from pathlib import Path
from typing import Any

from tests.support.tiny_models import write_model

from plumbline.contract.yaml_file import load_yaml
from plumbline.encoders.weights import find_pin
from tasks.retrieval.params import RetrievalParams

ROOT = Path(__file__).resolve().parents[2]
WORDS = ("parcel", "invoice", "password", "refund", "battery", "delivery", "account", "colour")
TUNED = {"max_tokens": 24, "batch_size": 8, "frozen_layers": 0, "learning_rate": 5e-3}


def values(**data: Any) -> dict[str, Any]:
    """The recipe with fewer queries, BM25 alone, and data changes."""
    found: dict[str, Any] = load_yaml(ROOT / "recipes/retrieval.yaml")
    sizes = {"train": 120, "validation": 60, "test": 80}
    found["data"]["generated"] |= sizes
    found["data"] |= data
    found["candidates"] = {"bm25": found["candidates"]["bm25"]}
    found["control"] = {"candidates": [], "max_rows": 40}
    found["validation"]["min_rows"] = 5
    found["training"] |= {"device": "cpu", "precision": "fp32"}
    return found


def build_params(**data: Any) -> RetrievalParams:
    """As `values`, checked."""
    return RetrievalParams.model_validate(values(**data))


def build_encoder_params(folder: Path, **data: Any) -> RetrievalParams:
    """As `values`, with a tiny encoder in `folder`: as it comes, and tuned."""
    weights, sha256 = find_pin(str(write_model(folder, "bert")))
    found = values(**data)
    recipe = load_yaml(ROOT / "recipes/retrieval.yaml")["candidates"]
    for name in ("base", "tuned"):
        found["candidates"][name] = recipe[name] | {"weights": weights, "sha256": sha256}
        found["candidates"][name]["max_tokens"] = TUNED["max_tokens"]
    found["candidates"]["tuned"] |= TUNED
    found["candidates"]["both"] = found["candidates"]["base"] | {"fusion": True}
    found["control"]["candidates"] = ["tuned"]
    return RetrievalParams.model_validate(found)


def list_pairs(num_queries: int) -> list[dict[str, str]]:
    """Pairs of which each passage has a word and a number of its own."""
    rows = []
    for number in range(num_queries):
        word = WORDS[number % len(WORDS)]
        passage = f"The {word} with the number {number} is dealt with on page {number * 7}."
        rows.append({"query": f"where is {word} {number}", "passage": passage})
    return rows


def describe_file(path: str, **columns: str) -> dict[str, Any]:
    """The data section that reads pairs from a file below data/raw."""
    names = {"query": "query", "passage": "passage", "passage_id": None, "topic": None}
    return {"source": path, "generated": None, "columns": names | columns}
