"""Is the manifest that of the examples? What can be derived from them is compared, row by row."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.contract.manifest import Manifest
from plumbline.contract.rows import FIRST, ROW, put_column, read_rows
from plumbline.contract.task import SPLITS, Task

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MAX_SHOWN = 80  # characters of a value in a message
MAX_ROUNDING = 1e-9  # relative difference of two floats that count as equal
REMEDY = "run `dvc repro -f ingest`"


def check_manifest(manifest: Manifest, task: Task[Any], examples: Path) -> None:
    """Raise DataError that names the first row of `manifest` that is not that of its example.

    Both come from one ingest; whoever edits only one of them has checks and gates look at other
    labels, texts or groups than models are scored on.
    """
    _require_known_rows(manifest)
    for split in SPLITS:
        comparison = _Comparison(f"{examples}: {split}")
        listed = _ListedRows(manifest, split)
        num_derived = 0
        for derived in _derive_rows(task, examples, split):
            rows = listed.take(len(derived))
            if len(rows) == len(derived):
                comparison.add(rows, derived, num_derived)
            num_derived += len(derived)
        num_listed = listed.count_all()
        if num_listed != num_derived:
            raise DataError(
                f"{examples}: {split} has {num_derived:,} rows, {layout.MANIFEST} has "
                f"{num_listed:,}; {REMEDY}"
            )
        comparison.require_equal()


def _require_known_rows(manifest: Manifest) -> None:
    """Raise DataError where a split has an id twice, or a row is in no split that is scored.

    An id in two splits is a leak, which the task's own checks name.
    """
    rows = read_rows(lambda: _number_rows(manifest))
    for batch in rows.find_first(["split", "id"]):
        is_repeated = batch[FIRST].to_numpy() != batch[ROW].to_numpy()
        if is_repeated.any():
            row = int(is_repeated.argmax())
            raise DataError(
                f"{layout.MANIFEST}: id {_show(batch['id'][row].as_py())} is there twice in split "
                f"{_show(batch['split'][row].as_py())}; {REMEDY}"
            )
    for batch in rows:
        for id_, split in zip(batch["id"].to_pylist(), batch["split"].to_pylist(), strict=True):
            if split not in SPLITS:
                raise DataError(
                    f"{layout.MANIFEST}: {_show(id_)} is in split {_show(split)}, which is none of "
                    f"{', '.join(SPLITS)}; {REMEDY}"
                )


def _number_rows(manifest: Manifest) -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa

    start = 0
    for batch in manifest.read_batches(["id", "split"]):
        end = start + batch.num_rows
        yield put_column(batch, ROW, pa.array(range(start, end), pa.int64()))
        start = end


class _ListedRows:
    """The manifest's rows of one split, to be taken one run after another."""

    def __init__(self, manifest: Manifest, split: str) -> None:
        self._batches = self._read(manifest, split)
        self._waiting: list[pd.DataFrame] = []
        self._num_taken = 0

    def take(self, num_rows: int) -> "pd.DataFrame":
        """Return the next rows; fewer where the manifest has no more."""
        import pandas as pd

        size = sum(map(len, self._waiting))
        while size < num_rows:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._waiting.append(batch)
            size += len(batch)
        rows = pd.concat(self._waiting, ignore_index=True) if self._waiting else pd.DataFrame()
        taken = rows.iloc[:num_rows]
        self._waiting = [rows.iloc[num_rows:]]
        self._num_taken += len(taken)
        return taken

    def count_all(self) -> int:
        """Return how many rows the manifest has of this split; no more can be taken then."""
        return self._num_taken + sum(map(len, [*self._waiting, *self._batches]))

    def _read(self, manifest: Manifest, split: str) -> Iterator["pd.DataFrame"]:
        for batch in manifest.read_batches():
            rows = batch.to_pandas()
            yield rows[rows["split"] == split]


def _derive_rows(task: Task[Any], examples: Path, split: str) -> Iterator["pd.DataFrame"]:
    """Yield what the task derives, in one table or in several."""
    import pandas as pd

    try:
        derived = task.data.list_rows(examples, split)
        tables: Iterable[pd.DataFrame]
        tables = [derived] if isinstance(derived, pd.DataFrame) else derived
        for table in tables:
            _require_id(table)
            yield table.reset_index(drop=True)
    except (LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"{examples}: {split} is not what ingest writes ({type(error).__name__}: {error}); "
            f"{REMEDY}"
        ) from None


def _require_id(table: "pd.DataFrame") -> None:
    if "id" not in table:
        raise LookupError("no column id")


@dataclass
class _Difference:
    """The first row in which a column differs, and how many do."""

    row: str  # its number and id
    ours: Any
    theirs: Any
    num_rows: int = 0


class _Comparison:
    """What the examples of one split have in each column, and what the manifest says."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._columns: dict[str, _Difference | None] = {}

    def add(self, listed: "pd.DataFrame", derived: "pd.DataFrame", start: int) -> None:
        """Compare rows with those derived; `start` is the number of the first."""
        for column in derived.columns:
            if column not in listed:
                raise DataError(f"{layout.MANIFEST} has no column {column}; {REMEDY}")
            ours, theirs = derived[column], listed[column]
            differs = _find_differences(ours, theirs)
            difference = self._columns.setdefault(column, None)
            if not differs.any():
                continue
            if difference is None:
                row = int(differs.argmax())
                name = f"row {start + row + 1:,} ({derived['id'][row]})"
                difference = _Difference(name, ours[row], theirs[row])
                self._columns[column] = difference
            difference.num_rows += int(differs.sum())

    def require_equal(self) -> None:
        """Raise DataError for the first column that differs."""
        for column, difference in self._columns.items():
            if difference is not None:
                raise DataError(
                    f"{self._place}, {difference.row}: {column} is {_show(difference.ours)} there "
                    f"and {_show(difference.theirs)} in {layout.MANIFEST} "
                    f"({difference.num_rows:,} such rows); {REMEDY}"
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
