"""What the leakage gate asks: does a held-out split repeat sequences, beyond what chance explains?

Short sequences repeat by chance: of sequences of 64 symbols that are often all equal, a few per
cent are in every split. A sequence counts as leaked only if its exact probability is so small
that chance would hardly ever repeat it.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plumbline.contract.records import Leak
from plumbline.tables.split_rows import count_leaks, find_earlier_splits, gather_rows
from tasks.sequence_bayes.data import list_rows
from tasks.sequence_bayes.params import SequenceParams

if TYPE_CHECKING:
    import pandas as pd

# Expected chance repeats of sequences that are this improbable: one in so many data sets.
RARITY = 100


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
