"""The corpus and the queries on disk: corpus.parquet, and one table for each split."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plumbline.contract.errors import explain_damage

if TYPE_CHECKING:
    import pandas as pd

CORPUS = "corpus.parquet"
ID_LETTERS = 16  # of the digest of a passage, which is its id where it has none
WHOLE = re.compile(r"(\d+)\.0+")  # so a table writes the id 12 where another one is missing


@dataclass(frozen=True)
class Corpus:
    """All passages, in the order of their ids: it says nothing of what a query finds."""

    ids: list[str]
    texts: list[str]

    def digest(self) -> str:
        """Return a SHA-256 of all ids and texts."""
        lines = "\0".join([*self.ids, *self.texts])
        return digest_text(lines)


def read_id(label: str) -> str:
    """Return the id that a label may mean: 12 for 12.0."""
    whole = WHOLE.fullmatch(label)
    return whole[1] if whole else label


def write_corpus(examples: Path, corpus: Corpus) -> None:
    """Write the corpus."""
    import pandas as pd

    table = pd.DataFrame({"id": corpus.ids, "text": corpus.texts})
    table.to_parquet(examples / CORPUS, index=False)


def read_corpus(examples: Path) -> Corpus:
    """Read the corpus; DataError where it is missing or damaged."""
    table = _read_table(examples / CORPUS)
    return Corpus(table["id"].tolist(), table["text"].tolist())


def write_queries(examples: Path, split: str, queries: "pd.DataFrame") -> None:
    """Write the queries of a split; its columns are those of `read_queries`."""
    queries.to_parquet(examples / f"{split}.parquet", index=False)


def read_queries(examples: Path, split: str) -> "pd.DataFrame":
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
    write_corpus(target, read_corpus(examples))
    random = np.random.default_rng(seed)
    for split in ("train", "validation"):
        queries = read_queries(examples, split)
        if split == "train":
            queries = queries.head(max_rows)
        order = random.permutation(len(queries))
        answers = ["passages", "grades", "negatives"]
        shuffled = queries.assign(**queries[answers].iloc[order].reset_index(drop=True))
        write_queries(target, split, shuffled)


def digest_text(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _read_table(path: Path) -> "pd.DataFrame":
    import pandas as pd

    with explain_damage(path):
        return pd.read_parquet(path)
