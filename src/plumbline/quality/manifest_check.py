"""Is the manifest that of the examples? What can be derived from them is compared, row by row."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS, Task

if TYPE_CHECKING:
    import pandas as pd

MAX_SHOWN = 80  # characters of a value in a message
REMEDY = "run `dvc repro -f ingest`"


def check_manifest(manifest: "pd.DataFrame", task: Task[Any], examples: Path) -> None:
    """Raise DataError that names the first row of `manifest` that is not that of its example.

    Both come from one ingest; whoever edits only one of them has checks and gates look at other
    labels, texts or groups than models are scored on.
    """
    for split in SPLITS:
        listed = manifest[manifest["split"] == split].reset_index(drop=True)
        derived = task.data.list_rows(examples, split).reset_index(drop=True)
        if len(listed) != len(derived):
            raise DataError(
                f"{examples}: {split} has {len(derived):,} rows, {layout.MANIFEST} has "
                f"{len(listed):,}; {REMEDY}"
            )
        for column in derived.columns:
            _compare_column(column, listed, derived, f"{examples}: {split}")


def _compare_column(
    column: str, listed: "pd.DataFrame", derived: "pd.DataFrame", place: str
) -> None:
    if column not in listed:
        raise DataError(f"{layout.MANIFEST} has no column {column}; {REMEDY}")
    ours, theirs = derived[column].astype(object), listed[column].astype(object)
    differs = (ours != theirs) & ~(ours.isna() & theirs.isna())
    if not differs.any():
        return
    row = int(differs.to_numpy().argmax())
    raise DataError(
        f"{place}, row {row + 1:,} ({derived['id'][row]}): {column} is {_show(ours[row])} there "
        f"and {_show(theirs[row])} in {layout.MANIFEST} ({int(differs.sum()):,} such rows); "
        f"{REMEDY}"
    )


def _show(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "…"
