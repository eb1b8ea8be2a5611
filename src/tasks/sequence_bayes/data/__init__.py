"""From a prior to sequences on disk, and back; and what is exactly true of them."""

from tasks.sequence_bayes.data.ingestion import ingest, list_rows
from tasks.sequence_bayes.data.prior import SequencePrior
from tasks.sequence_bayes.data.storage import (
    list_inputs,
    name_rows,
    read_inputs,
    read_prior,
    read_sequences,
    read_strata,
    shuffle_labels,
    write_prior,
    write_sequences,
)

__all__ = [
    "SequencePrior",
    "ingest",
    "list_inputs",
    "list_rows",
    "name_rows",
    "read_inputs",
    "read_prior",
    "read_sequences",
    "read_strata",
    "shuffle_labels",
    "write_prior",
    "write_sequences",
]
