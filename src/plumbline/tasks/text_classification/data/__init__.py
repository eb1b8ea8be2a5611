"""From any source to examples that stages and models read back."""

from plumbline.tasks.text_classification.data.ingestion import ingest
from plumbline.tasks.text_classification.data.normalisation import digest, normalise
from plumbline.tasks.text_classification.data.permutation import permuted
from plumbline.tasks.text_classification.data.reading import read

__all__ = ["digest", "ingest", "normalise", "permuted", "read"]
