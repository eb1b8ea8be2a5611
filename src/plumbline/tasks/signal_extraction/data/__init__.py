"""From a generator to realisations on disk, and back."""

from plumbline.tasks.signal_extraction.data.ingestion import ingest
from plumbline.tasks.signal_extraction.data.permutation import permuted
from plumbline.tasks.signal_extraction.data.setting import Setting
from plumbline.tasks.signal_extraction.data.storage import Realisations, read, setting
from plumbline.tasks.signal_extraction.data.windows import Windows, windows

__all__ = ["Realisations", "Setting", "Windows", "ingest", "permuted", "read", "setting", "windows"]
