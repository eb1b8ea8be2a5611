"""Is the manifest that of the examples? What can be derived from them is compared, row by row."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract import layout
from plumbline.contract.errors import DataError, explain_damage
from plumbline.contract.task import SPLITS, Task
from plumbline.tables.manifest_file import Manifest

if TYPE_CHECKING:
    import pandas as pd

MAX_SHOWN = 80  # characters of a value in a message
MAX_ROUNDING = 1e-9  # relative difference of two floats that count as equal
REMEDY = "run `dvc repro -f ingest`"


def check_manifest(manifest: Manifest, task: Task[Any], examples: Path) -> None:
    """Raise DataError that names the first row of `manifest` that is not that of its example.

    Both come from one ingest; whoever edits only one of them has checks and gates look at other
    labels, texts or groups than models are scored on.
    """
    expected = {split: _ExpectedRows(task, examples, split) for split in SPLITS}
    for batch in manifest.read_batches():
        for split, rows in batch.to_pandas().groupby("split", sort=False, dropna=False):
            if split not in expected:
                raise DataError(
                    f"{layout.MANIFEST}: {_show(rows['id'].iloc[0])} is in split {_show(split)}, "
                    f"which is none of {', '.join(SPLITS)}; {REMEDY}"
                )
            expected[str(split)].compare(rows.reset_index(drop=True))
    for remaining in expected.values():
        remaining.require_end()


class _ExpectedRows:
    """The rows that follow from the examples of one split, compared in order."""

    def __init__(self, task: Task[Any], examples: Path, split: str) -> None:
        import pandas as pd

        self._place = f"{examples}: {split}"
        self._tables = _derive_rows(task, examples, split)
        self._table = next(self._tables, pd.DataFrame())
        self._num_compared = 0

    def compare(self, listed: "pd.DataFrame") -> None:
        """Compare the next rows with those that the manifest lists."""
        expected = self._take(len(listed))
        if len(expected) < len(listed):
            num_rows = self._num_compared + len(expected)
            raise DataError(
                f"{self._place} has {num_rows:,} rows, {layout.MANIFEST} has more; {REMEDY}"
            )
        for column in expected.columns:
            if column not in listed:
                raise DataError(f"{layout.MANIFEST} has no column {column}; {REMEDY}")
            differs = _find_differences(expected[column], listed[column])
            if differs.any():
                row = int(differs.argmax())
                ours, theirs = expected[column][row], listed[column][row]
                raise DataError(
                    f"{self._place}, row {self._num_compared + row + 1:,} ({expected['id'][row]}): "
                    f"{column} is {_show(ours)} there and {_show(theirs)} in {layout.MANIFEST}; "
                    f"{REMEDY}"
                )
        self._num_compared += len(listed)

    def require_end(self) -> None:
        """Raise DataError where a row is left that the manifest does not list."""
        if len(self._take(1)):
            raise DataError(
                f"{self._place} has more rows than {layout.MANIFEST}, which has "
                f"{self._num_compared:,}; {REMEDY}"
            )

    def _take(self, num_rows: int) -> "pd.DataFrame":
        """Return the next rows; fewer where no more follow."""
        import pandas as pd

        parts = [self._table[:0]]
        while num_rows:
            if self._table.empty:
                self._table = next(self._tables, self._table)
            part, self._table = self._table[:num_rows], self._table[num_rows:]
            if part.empty:
                break
            parts.append(part)
            num_rows -= len(part)
        return pd.concat(parts, ignore_index=True)


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


def _show(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "…"
