"""From any source to examples that stages and models read back."""

from plumbline.tasks.text_classification.data.ingestion import ingest
from plumbline.tasks.text_classification.data.normalisation import digest_text, normalise
from plumbline.tasks.text_classification.data.permutation import shuffle_labels
from plumbline.tasks.text_classification.data.storage import list_rows, read_inputs, read_split

__all__ = [
    "digest_text",
    "ingest",
    "list_rows",
    "normalise",
    "read_inputs",
    "read_split",
    "shuffle_labels",
]
