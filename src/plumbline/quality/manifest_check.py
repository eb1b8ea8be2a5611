"""Is the manifest that of the examples? What can be derived from them is compared, row by row."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS, Task

if TYPE_CHECKING:
    import pandas as pd

MAX_SHOWN = 80  # characters of a value in a message
MAX_ROUNDING = 1e-9  # relative difference of two floats that count as equal
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
    """Raise DataError where a split has an id twice, or a row is in no split that is scored.

    An id in two splits is a leak, which the task's own checks name.
    """
    repeated = manifest[manifest.duplicated(["split", "id"])]
    if len(repeated):
        raise DataError(
            f"{layout.MANIFEST}: id {_show(repeated['id'].iloc[0])} is there twice in split "
            f"{_show(repeated['split'].iloc[0])}; {REMEDY}"
        )
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
    ours, theirs = derived[column], listed[column]
    differs = _find_differences(ours, theirs)
    if not differs.any():
        return
    row = int(differs.argmax())
    raise DataError(
        f"{place}, row {row + 1:,} ({derived['id'][row]}): {column} is {_show(ours[row])} there "
        f"and {_show(theirs[row])} in {layout.MANIFEST} ({int(differs.sum()):,} such rows); "
        f"{REMEDY}"
    )


def _find_differences(ours: "pd.Series", theirs: "pd.Series") -> np.ndarray:
    """Mark where two columns differ [rows].

    The last digits of a sum of floats, such as one of logarithms, depend on the processor.
    """
    if ours.dtype.kind == "f" and theirs.dtype.kind == "f":
        return ~np.isclose(ours, theirs, rtol=MAX_ROUNDING, atol=1e-12, equal_nan=True)
    ours, theirs = ours.astype(object), theirs.astype(object)
    return ((ours != theirs) & ~(ours.isna() & theirs.isna())).to_numpy(bool)


def _show(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "…"
