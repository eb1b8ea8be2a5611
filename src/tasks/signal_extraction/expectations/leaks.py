"""What the leakage gate asks: are realisations, or windows under another name, in two splits?"""

from pathlib import Path

from plumbline.contract.records import Leak
from plumbline.tables.split_rows import count_leaks, find_earlier_splits, gather_rows
from tasks.signal_extraction.data import list_rows
from tasks.signal_extraction.params import SignalParams


def find_leaks(params: SignalParams, examples: Path) -> list[Leak]:
    """Count held-out windows that an earlier split has, by their samples or their realisation."""
    rows = gather_rows(list_rows, examples)
    same_window = find_earlier_splits(rows, "digest")
    same_realisation = find_earlier_splits(rows, "realisation")
    return count_leaks(rows, {"exact": same_window, "group": same_realisation})
