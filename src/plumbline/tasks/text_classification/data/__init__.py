"""From any source to examples that stages and models read back."""

from plumbline.tables.split_files import read_split
from plumbline.tasks.text_classification.data.ingestion import ingest
from plumbline.tasks.text_classification.data.normalisation import digest_text, normalise
from plumbline.tasks.text_classification.data.permutation import shuffle_labels
from plumbline.tasks.text_classification.data.splits import find_splits
from plumbline.tasks.text_classification.data.storage import (
    list_rows,
    read_inputs,
    read_label_sets,
)

__all__ = [
    "digest_text",
    "find_splits",
    "ingest",
    "list_rows",
    "normalise",
    "read_inputs",
    "read_label_sets",
    "read_split",
    "shuffle_labels",
]
