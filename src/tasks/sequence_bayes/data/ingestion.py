"""From params to sequences, and a manifest with one row for each."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.task import SPLITS
from plumbline.tables.split_rows import gather_rows
from tasks.sequence_bayes.data.exact import compute_log_probability
from tasks.sequence_bayes.data.prior import SequencePrior, draw_sequences
from tasks.sequence_bayes.data.storage import (
    name_rows,
    read_prior,
    read_sequences,
    read_strata,
    write_prior,
    write_sequences,
)
from tasks.sequence_bayes.params import SequenceParams

if TYPE_CHECKING:
    import pandas as pd


def ingest(params: SequenceParams, examples: Path, manifest: Path) -> dict[str, Any]:
    """Write every split's sequences and the manifest; the facts say how many there are."""
    prior = SequencePrior.from_params(params.data)
    write_prior(examples, prior)
    counts = {}
    for number, split in enumerate(SPLITS):
        random = np.random.default_rng((params.seed, number))
        sequences, strata = draw_sequences(prior, getattr(params.data.rows, split), random)
        write_sequences(examples, split, sequences, strata)
        counts[split] = len(sequences)
    gather_rows(list_rows, examples).to_parquet(manifest, index=False)
    return {"sequences": counts}


def list_rows(examples: Path, split: str) -> "pd.DataFrame":
    """Return the manifest's rows of one split, in order, with all columns but `split`."""
    import pandas as pd

    prior = read_prior(examples)
    sequences = read_sequences(examples, split)
    names = np.array(prior.names, dtype=object)
    columns = {
        "id": name_rows(split, len(sequences)),
        "label": names[read_strata(examples, split)],
        "length": sequences.shape[1],
        "digest": _compute_digests(sequences),
        "log_probability": compute_log_probability(prior, sequences),
    }
    return pd.DataFrame(columns)


def _compute_digests(sequences: np.ndarray) -> list[str]:
    """Return the SHA-256 of the symbols of each sequence."""
    contiguous = np.ascontiguousarray(sequences)
    return [hashlib.sha256(row.tobytes()).hexdigest() for row in contiguous]
