"""Is the manifest that of the examples? What can be derived from them is compared, row by row."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract import layout
from plumbline.contract.errors import DataError, explain_damage
from plumbline.contract.task import SPLITS, Task
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.split_files import REMEDY

if TYPE_CHECKING:
    import pandas as pd

MAX_SHOWN = 80  # characters of a value in a message
MAX_ROUNDING = 1e-9  # relative difference of two floats that count as equal
CHUNK_ROWS = 10_000  # that are compared at once


def check_manifest(manifest: Manifest, task: Task[Any], examples: Path) -> None:
    """Raise DataError that names the first row of `manifest` that is not that of its example.

    Both come from one ingest; whoever edits only one of them has checks and gates look at other
    labels, texts or groups than models are scored on.
    """
    for split in SPLITS:
        derived = _cut(_derive_rows(task, examples, split))
        listed = _cut(_list_rows(manifest, split))
        num_before = 0
        for ours, theirs in zip(derived, listed, strict=False):
            _compare(ours, theirs, f"{examples}: {split}", num_before)
            num_before += len(ours)


def _list_rows(manifest: Manifest, split: str) -> Iterator["pd.DataFrame"]:
    for batch in manifest.read_batches():
        rows = batch.to_pandas()
        yield rows[rows["split"] == split]


def _cut(tables: Iterable["pd.DataFrame"]) -> Iterator["pd.DataFrame"]:
    """Yield the rows of all tables CHUNK_ROWS at a time; the last chunk has fewer, or none."""
    import pandas as pd

    waiting = pd.DataFrame()
    for table in tables:
        waiting = pd.concat([waiting, table], ignore_index=True)
        while len(waiting) >= CHUNK_ROWS:
            yield waiting[:CHUNK_ROWS]
            waiting = waiting[CHUNK_ROWS:].reset_index(drop=True)
    yield waiting


def _compare(ours: "pd.DataFrame", theirs: "pd.DataFrame", place: str, num_before: int) -> None:
    """Compare rows that follow from examples with those that the manifest lists in their place."""
    if len(ours) != len(theirs):
        kind = "more" if len(ours) > len(theirs) else "fewer"
        raise DataError(f"{place} has {kind} rows than {layout.MANIFEST}; {REMEDY}")
    for column in ours.columns:
        if column not in theirs:
            raise DataError(f"{layout.MANIFEST} has no column {column}; {REMEDY}")
        differs = _find_differences(ours[column], theirs[column])
        if differs.any():
            row = int(differs.argmax())
            one, other = (repr(rows[column][row])[:MAX_SHOWN] for rows in (ours, theirs))
            raise DataError(
                f"{place}, row {num_before + row + 1:,} ({ours['id'][row]}): {column} is "
                f"{one} there and {other} in {layout.MANIFEST}; {REMEDY}"
            )


def _derive_rows(task: Task[Any], examples: Path, split: str) -> Iterator["pd.DataFrame"]:
    """Yield what the task derives, in one table or in several."""
    import pandas as pd

    with explain_damage(examples / split, REMEDY):
        derived = task.data.list_rows(examples, split)
        for table in [derived] if isinstance(derived, pd.DataFrame) else derived:
            if "id" not in table:
                raise LookupError("no column id")
            yield table


def _find_differences(ours: "pd.Series", theirs: "pd.Series") -> np.ndarray:
    """Mark where two columns differ [rows].

    The last digits of a sum of floats, such as one of logarithms, depend on the processor.
    """
    if ours.dtype.kind == "f" and theirs.dtype.kind == "f":
        return ~np.isclose(ours, theirs, rtol=MAX_ROUNDING, atol=1e-12, equal_nan=True)
    ours, theirs = ours.astype(object), theirs.astype(object)
    return ((ours != theirs) & ~(ours.isna() & theirs.isna())).to_numpy(bool)
