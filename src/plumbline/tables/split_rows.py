"""The rows of all splits in one table, and which of them an earlier split has too."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.records import Leak
from plumbline.contract.task import SPLITS

if TYPE_CHECKING:
    import pandas as pd

MAX_EXAMPLES = 5


def gather_rows(list_rows: Callable[[Path, str], "pd.DataFrame"], examples: Path) -> "pd.DataFrame":
    """Return the manifest: what `list_rows` says of each split, with a column `split`."""
    import pandas as pd

    tables = [list_rows(examples, split).assign(split=split) for split in SPLITS]
    return pd.concat(tables, ignore_index=True)


def find_earlier_splits(rows: "pd.DataFrame", column: str) -> "pd.Series":
    """For each row the first split before its own that has its value in `column`, or None.

    Empty texts are not compared.
    """
    import pandas as pd

    values, splits = rows[column], rows["split"]
    earlier = pd.Series(None, index=rows.index, dtype=object)
    for number, split in enumerate(SPLITS):
        for before in reversed(SPLITS[:number]):
            is_known = values.isin(values[splits == before]) & (values != "")
            earlier[is_known & (splits == split)] = before
    return earlier


def count_leaks(rows: "pd.DataFrame", places: Mapping[Any, "pd.Series"]) -> list[Leak]:
    """Count the rows of each held-out split that are elsewhere too, by the kind of leak.

    `places` says for each kind where a row is too, or None; examples name the `id` of rows.
    """
    leaks = []
    for split in SPLITS[1:]:
        own = rows[rows["split"] == split]
        for kind, place in places.items():
            leaked = place[own.index].dropna()
            shown = own["id"].astype(object) + " (also in " + leaked.head(MAX_EXAMPLES) + ")"
            leaks.append(Leak(kind, split, len(leaked), len(own), tuple(shown.dropna())))
    return leaks
