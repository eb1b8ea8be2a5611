"""From recorded answers to questions on disk, and back."""

from tasks.answer_consensus.data.ingestion import ingest, list_rows
from tasks.answer_consensus.data.inputs import read_inputs
from tasks.answer_consensus.data.storage import shuffle_labels

__all__ = ["ingest", "list_rows", "read_inputs", "shuffle_labels"]
