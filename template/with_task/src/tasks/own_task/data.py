"""From the source to examples, as in text classification."""

from plumbline.tasks.text_classification.data import (
    ingest,
    list_rows,
    read_inputs,
    shuffle_labels,
)

__all__ = ["ingest", "list_rows", "read_inputs", "shuffle_labels"]
