"""From pairs of queries and passages to a corpus and three splits of queries."""

from tasks.retrieval.data.division import find_splits
from tasks.retrieval.data.ingestion import ingest, list_rows
from tasks.retrieval.data.storage import read_inputs, shuffle_labels

__all__ = ["find_splits", "ingest", "list_rows", "read_inputs", "shuffle_labels"]
