"""From a generator to realisations on disk, and back."""

from tasks.signal_extraction.data.ingestion import ingest, list_rows
from tasks.signal_extraction.data.setting import Setting
from tasks.signal_extraction.data.storage import (
    Realisations,
    read_realisations,
    read_setting,
    shuffle_labels,
)
from tasks.signal_extraction.data.windows import (
    Windows,
    list_inputs,
    read_inputs,
    read_windows,
)

__all__ = [
    "Realisations",
    "Setting",
    "Windows",
    "ingest",
    "list_inputs",
    "list_rows",
    "read_inputs",
    "read_realisations",
    "read_setting",
    "read_windows",
    "shuffle_labels",
]
