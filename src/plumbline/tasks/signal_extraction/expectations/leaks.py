"""What the leakage gate asks: do realisations, or windows under another name, stand in two splits?"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from plumbline.contract.task import SPLITS, Leak
from plumbline.tasks.signal_extraction.data import windows
from plumbline.tasks.signal_extraction.expectations.findings import earlier
from plumbline.tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd

MAX_EXAMPLES = 5


def leaks(params: SignalParams, examples: Path) -> list[Leak]:
    """Windows of validation and test that stand, sample for sample or by their realisation, in an earlier split."""
    rows = _rows(examples)
    found = []
    for split in SPLITS[1:]:
        own = rows[rows["split"] == split]
        found.append(_leak("exact", split, own, earlier(rows, "digest")))
        found.append(_leak("group", split, own, earlier(rows, "realisation")))
    return found


def _rows(examples: Path) -> "pd.DataFrame":
    import pandas as pd

    parts = []
    for split in SPLITS:
        found = windows(examples, split)
        rows = {"digest": found.digests, "realisation": found.realisations, "start": found.starts}
        parts.append(pd.DataFrame(rows).assign(split=split))
    return pd.concat(parts, ignore_index=True)


def _leak(
    kind: Literal["exact", "group"], split: str, rows: "pd.DataFrame", found: "pd.Series"
) -> Leak:
    which = found[rows.index].dropna()
    shown = [
        f"{rows['realisation'][row]}@{rows['start'][row]} (also in {found[row]})"
        for row in which.index
    ]
    return Leak(kind, split, len(which), len(rows), tuple(shown[:MAX_EXAMPLES]))
