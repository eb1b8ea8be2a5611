"""What sequences must be before a model may learn from them, and whether they leak.

Short sequences repeat by chance: of sequences of 64 symbols that are often all equal, a few per
cent are in every split. A sequence counts as leaked only if its exact probability is so small
that chance would hardly ever repeat it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check, Leak
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.split_rows import count_leaks, find_earlier_splits, gather_rows
from tasks.sequence_bayes.data import list_rows
from tasks.sequence_bayes.params import SequenceParams

if TYPE_CHECKING:
    import pandas as pd

# Expected chance repeats of sequences that are this improbable: one in so many data sets.
RARITY = 100


def build_table(
    params: SequenceParams, examples: Path, manifest: Manifest, facts: Mapping[str, Any]
) -> "pd.DataFrame":
    """Return the manifest, and beside each row `also_in`: an earlier split that repeats it."""
    rows = manifest.read()
    return rows.assign(also_in=find_repeats(rows))


def build_checks(params: SequenceParams, table: "pd.DataFrame") -> list[Check]:
    """Return the suite for a table of `build_table`; every check blocks."""
    return [
        Check(
            "repeats",
            expect("expect_column_values_to_be_null", column="also_in"),
            "blocking",
            "No sequence of a held-out split is in an earlier one, beyond chance",
            "rows were copied between splits; run `dvc repro --force ingest`",
        ),
    ]


def find_leaks(params: SequenceParams, examples: Path) -> list[Leak]:
    """Count held-out sequences that an earlier split has, where chance does not explain it."""
    rows = gather_rows(list_rows, examples)
    return count_leaks(rows, {"exact": find_repeats(rows)})


def find_repeats(rows: "pd.DataFrame") -> "pd.Series":
    """For each row of the manifest the earlier split that has a sequence too rare for chance.

    Of n earlier and m own rows, a sequence of probability p is expected n m p times in both.
    """
    earlier = find_earlier_splits(rows, "digest")
    sizes = rows["split"].value_counts()
    num_pairs = rows["split"].map(sizes) * earlier.map(sizes).astype(float)
    return earlier.where(rows["log_probability"] < -np.log(RARITY * num_pairs), None)
