"""The table that checks look at: the manifest, and beside each row what its sequence shows."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.task import SPLITS
from plumbline.tables.manifest_file import Manifest
from tasks.sequence_bayes.data import name_rows, read_prior, read_sequences
from tasks.sequence_bayes.data.exact import compute_log_probability, compute_predictive
from tasks.sequence_bayes.expectations.leaks import find_repeats
from tasks.sequence_bayes.params import SequenceParams
from tasks.sequence_bayes.predictor import compute_entropy

if TYPE_CHECKING:
    import pandas as pd


def build_table(
    params: SequenceParams, examples: Path, manifest: Manifest, facts: Mapping[str, Any]
) -> "pd.DataFrame":
    """Return the manifest with three more columns.

    `highest` is the largest symbol; `surprise`, by how many standard errors the mean log
    probability of its split is from what the prior says; `also_in`, an earlier split with the
    same sequence, where chance does not explain it.
    """
    rows = manifest.read().merge(_measure_sequences(examples), on=["split", "id"], how="left")
    return rows.assign(also_in=find_repeats(rows))


def _measure_sequences(examples: Path) -> "pd.DataFrame":
    """One row for each sequence of each split."""
    import pandas as pd

    prior = read_prior(examples)
    tables = []
    for split in SPLITS:
        sequences = read_sequences(examples, split)
        # A symbol beyond the alphabet is shown by `highest`; its probability is not defined.
        readable = np.minimum(sequences, prior.num_symbols - 1)
        logs = compute_log_probability(prior, readable)
        predictive = compute_predictive(prior, readable)[:, :-1]
        expected = -compute_entropy(predictive).sum(axis=1)
        deviation = (logs - expected).std(ddof=1) / np.sqrt(len(logs))
        columns = {
            "split": split,
            "id": name_rows(split, len(sequences)),
            "highest": sequences.max(axis=1),
            "surprise": abs((logs - expected).mean()) / max(deviation, 1e-12),
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)
