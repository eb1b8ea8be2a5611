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
    _require_known_rows(manifest)
    for split in SPLITS:
        listed = manifest[manifest["split"] == split].reset_index(drop=True)
        derived = _derive_rows(task, examples, split)
        if len(listed) != len(derived):
            raise DataError(
                f"{examples}: {split} has {len(derived):,} rows, {layout.MANIFEST} has "
                f"{len(listed):,}; {REMEDY}"
            )
        for column in derived.columns:
            _compare_column(column, listed, derived, f"{examples}: {split}")


def _require_known_rows(manifest: "pd.DataFrame") -> None:
    """Raise DataError where an id is there twice, or a row is in no split that is scored."""
    repeated = manifest["id"][manifest["id"].duplicated()]
    if len(repeated):
        raise DataError(f"{layout.MANIFEST}: id {_show(repeated.iloc[0])} is there twice; {REMEDY}")
    lost = manifest[~manifest["split"].isin(SPLITS)]
    if len(lost):
        split = _show(lost["split"].iloc[0])
        raise DataError(
            f"{layout.MANIFEST}: {_show(lost['id'].iloc[0])} is in split {split}, which is none of "
            f"{', '.join(SPLITS)}; {REMEDY}"
        )


def _derive_rows(task: Task[Any], examples: Path, split: str) -> "pd.DataFrame":
    try:
        return task.data.list_rows(examples, split).reset_index(drop=True)
    except (LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"{examples}: {split} is not what ingest writes ({type(error).__name__}: {error}); "
            f"{REMEDY}"
        ) from None


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
