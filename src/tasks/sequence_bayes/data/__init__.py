"""From a prior to sequences on disk, and back; and what is exactly true of them."""

from tasks.sequence_bayes.data.ingestion import ingest, list_rows
from tasks.sequence_bayes.data.storage import read_inputs, shuffle_labels

__all__ = ["ingest", "list_rows", "read_inputs", "shuffle_labels"]
