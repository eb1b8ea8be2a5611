"""From a generator to windows on disk, and back."""

from tasks.signal_extraction.data.ingestion import ingest, list_rows
from tasks.signal_extraction.data.windows import read_inputs, shuffle_labels

__all__ = ["ingest", "list_rows", "read_inputs", "shuffle_labels"]
