"""The corpus and the queries on disk: corpus.parquet, and one table for each split."""

import hashlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from plumbline.contract.errors import explain_damage

CORPUS = "corpus.parquet"
ID_LETTERS = 16  # of the digest of a passage, which is its id where it has none
WHOLE = re.compile(r"^(\d+)\.0+$")  # so a table writes the id 12 where another one is missing


@dataclass(frozen=True)
class Corpus:
    """All passages, in the order of their ids: it says nothing of what a query finds."""

    ids: list[str]
    texts: list[str]


def digest_text(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def name_passage(text: str) -> str:
    """Return the id of a passage that has none in the source."""
    return digest_text(text)[:ID_LETTERS]


def read_id(label: str) -> str:
    """Return the id that a label may mean: 12 for 12.0."""
    return WHOLE.sub(r"\1", label)


def read_corpus(examples: Path) -> Corpus:
    """Read the corpus; DataError where it is missing or damaged."""
    table = _read_table(examples / CORPUS)
    return Corpus(table["id"].tolist(), table["text"].tolist())


def read_queries(examples: Path, split: str) -> pd.DataFrame:
    """Read the queries of a split, in order; DataError where the file is missing or damaged.

    The columns are id, query, topic, `passages`, the ids of those that answer it, with their
    `grades`, and `negatives`, the ids of some that are known not to.
    """
    return _read_table(examples / f"{split}.parquet")


def read_inputs(examples: Path, split: str) -> dict[str, list[str]]:
    """Return the predictor's columns for one split, in order."""
    return {"query": read_queries(examples, split)["query"].tolist()}


def shuffle_labels(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    """Write train (`max_rows` of it) and validation to `target`, their passages shuffled."""
    shutil.copy2(examples / CORPUS, target)
    random = np.random.default_rng(seed)
    for split, most in (("train", max_rows), ("validation", None)):
        queries = read_queries(examples, split)[:most]
        answers = queries[["passages", "grades", "negatives"]]
        order = random.permutation(len(queries))
        shuffled = queries.assign(**answers.iloc[order].reset_index(drop=True))
        shuffled.to_parquet(target / f"{split}.parquet", index=False)


def _read_table(path: Path) -> pd.DataFrame:
    with explain_damage(path):
        return pd.read_parquet(path)
