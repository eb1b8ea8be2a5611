"""What pairs must be before a model may learn from them, and whether they leak."""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check, Leak
from plumbline.contract.task import SPLITS
from plumbline.statistics.similar_texts import find_twins
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.split_rows import count_leaks, find_earlier_splits, gather_rows
from tasks.retrieval.data import list_rows
from tasks.retrieval.data.storage import read_inputs
from tasks.retrieval.params import RetrievalParams
from tasks.retrieval.predictor import list_words

NUM_WORDS = 8  # in a row: a query whose runs are all known is a copy with more around it
SIMILARITY = 0.9  # Jaccard index of two queries' n-grams from which on they are nearly equal


def build_table(
    params: RetrievalParams, examples: Path, manifest: Manifest, facts: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the manifest; beside each row whether an earlier split has its query."""
    rows = manifest.read()
    verbatim = (rows["overlap"] == "verbatim").astype(float)
    return rows.assign(seen_in=find_earlier_splits(rows, "digest"), verbatim=verbatim)


def build_checks(params: RetrievalParams, table: pd.DataFrame) -> list[Check]:
    """Return the suite for a table of `build_table`."""
    most = params.validation.max_verbatim_share
    return [
        Check(
            "queries",
            expect("expect_column_values_to_be_null", column="seen_in"),
            "blocking",
            "No query of a held-out split is in an earlier one",
            "queries that differ in blanks or signs alone are one: leave one of them out",
        ),
        Check(
            "verbatim",
            expect("expect_column_mean_to_be_between", column="verbatim", max_value=most),
            "warning",
            "Few queries are in their passage word for word",
            "a search for words finds these; are the queries real ones, or cut from the passages?",
        ),
    ]


def find_leaks(params: RetrievalParams, examples: Path) -> list[Leak]:
    """Count held-out queries that an earlier split has, by their words or nearly so.

    Passages are shared by all splits on purpose: a query is held out, what it searches is not.
    """
    rows = gather_rows(list_rows, examples)
    exact = find_earlier_splits(rows, "digest")
    near = _find_near_splits(rows, examples).where(exact.isna(), None)
    return count_leaks(rows, {"exact": exact, "near": near})


def _find_near_splits(rows: pd.DataFrame, examples: Path) -> pd.Series:
    """For each row "an earlier split" where one has nearly the same query, or None."""
    near = pd.Series(None, index=rows.index, dtype=object)
    earlier: list[str] = []
    for split in SPLITS:
        queries = read_inputs(examples, split)["query"]
        twins = find_twins(queries, earlier, SIMILARITY)
        runs = list(map(_list_runs, queries))
        known = set().union(*runs).intersection(chain.from_iterable(map(_list_runs, earlier)))
        within = [row for row, own in enumerate(runs) if own and own <= known]
        near[rows.index[rows["split"] == split][[*twins, *within]]] = "an earlier split"
        earlier += queries
    return near


def _list_runs(query: str) -> set[tuple[str, ...]]:
    """List all runs of NUM_WORDS words."""
    words = list_words(query)
    return {tuple(words[at : at + NUM_WORDS]) for at in range(len(words) - NUM_WORDS + 1)}
