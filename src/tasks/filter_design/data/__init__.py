"""From drawn specifications or a file of them to examples on disk, and back; and the theorem."""

from tasks.filter_design.data.ingestion import ingest, list_rows
from tasks.filter_design.data.storage import read_inputs, shuffle_labels

__all__ = ["ingest", "list_rows", "read_inputs", "shuffle_labels"]
