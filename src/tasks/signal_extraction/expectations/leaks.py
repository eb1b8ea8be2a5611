"""What the leakage gate asks: are realisations, or windows under another name, in two splits?"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from plumbline.contract.records import Leak
from plumbline.contract.task import SPLITS
from tasks.signal_extraction.data import read_windows
from tasks.signal_extraction.expectations.findings import find_earlier_splits
from tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd

MAX_EXAMPLES = 5


def find_leaks(params: SignalParams, examples: Path) -> list[Leak]:
    """Count held-out windows that an earlier split has, by their samples or their realisation."""
    rows = _list_windows(examples)
    same_window = find_earlier_splits(rows, "digest")
    same_realisation = find_earlier_splits(rows, "realisation")
    leaks = []
    for split in SPLITS[1:]:
        own = rows[rows["split"] == split]
        leaks.append(_count_leaks("exact", split, own, same_window))
        leaks.append(_count_leaks("group", split, own, same_realisation))
    return leaks


def _list_windows(examples: Path) -> "pd.DataFrame":
    import pandas as pd

    tables = []
    for split in SPLITS:
        windows = read_windows(examples, split)
        columns = {
            "digest": windows.digests,
            "realisation": windows.realisations,
            "start": windows.starts,
        }
        tables.append(pd.DataFrame(columns).assign(split=split))
    return pd.concat(tables, ignore_index=True)


def _count_leaks(
    kind: Literal["exact", "group"], split: str, rows: "pd.DataFrame", earlier: "pd.Series"
) -> Leak:
    leaked = earlier[rows.index].dropna()
    examples = [
        f"{rows['realisation'][row]}@{rows['start'][row]} (also in {earlier[row]})"
        for row in leaked.index
    ]
    return Leak(kind, split, len(leaked), len(rows), tuple(examples[:MAX_EXAMPLES]))
