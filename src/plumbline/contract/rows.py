"""Rows of any number, as Arrow batches in order, and the three verbs that look at all of them.

A task hands functions of one batch to `map` and `fold`, and names columns to `find_first`. Rows lie
in parts, each of which is read by itself, a batch at a time.
"""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

# Names that no column of data has.
ROW = "#row"  # the column with the number of each row, from 0
FIRST = "#first"  # the column that `find_first` adds
PART_ROWS = 50_000  # of stored rows, at least, but for the last part
T = TypeVar("T")
Batches = Iterator["pa.RecordBatch"]


@dataclass(frozen=True)
class RowBatches:
    """A table in batches, each of them with a column ROW; it may be read any number of times."""

    parts: Sequence["_Part"]
    steps: Sequence["_Step"] = ()  # what is done with the batches of each part
    # What is removed from disk with the last rows that need it.
    folder: "_Folder | None" = None

    def __iter__(self) -> Batches:
        """Yield the batches, in order, to this process."""
        for part in self.parts:
            yield from _read_part(part, self.steps)

    def map(self, change: Callable[["pa.RecordBatch"], "pa.RecordBatch"]) -> "RowBatches":
        """Return the rows that `change` makes of each batch: other columns, or fewer rows."""
        return replace(self, steps=(*self.steps, _Change(change)))

    def fold(self, measure: Callable[["pa.RecordBatch"], T], merge: Callable[[T, T], T]) -> T:
        """Measure each batch, and merge what was measured, in order; there is a batch.

        `merge` is associative: batches of one part are merged first. It may change its first
        argument.
        """
        measured = map(partial(_fold_part, self.steps, measure, merge), self.parts)
        return reduce(merge, (value for values in measured for value in values))

    def find_first(self, keys: Sequence[str]) -> "RowBatches":
        """Return the rows with a column FIRST: the number of the earliest row with these keys.

        It takes 8 bytes a row, and some 53 until it is found, in this process. Keys are compared by
        a hash of 64 bits.
        """
        hashed = [_hash_part(self.steps, keys, part) for part in self.parts]
        first = _find_first(hashed)
        parts = [
            replace(part, first=(*part.first, own))
            for part, own in zip(self.parts, first, strict=True)
        ]
        place = len(self.parts[0].first) if self.parts else 0
        return replace(self, parts=parts, steps=(*self.steps, _PutFirst(place)))


def read_rows(read: Callable[[], Batches]) -> RowBatches:
    """Return rows that are read each time from the beginning."""
    return RowBatches([_Part(read)])


def store_batches(batches: Batches) -> RowBatches:
    """Write `batches` to temporary files, of one part each, and return them from there.

    The files are gone with the last rows that need them.
    """
    folder = _Folder()
    parts: list[_Part] = []
    batch = next(batches, None)
    while batch is not None:
        path = folder.path / f"{len(parts):06}.arrow"
        batch = _write_part(path, batch, batches)
        parts.append(_Part(_StoredPart(str(path))))
    return RowBatches(parts, folder=folder)


def store_rows(rows: RowBatches) -> RowBatches:
    """Write `rows` to temporary files, and return them from there: to compute them once."""
    folder = _Folder()
    parts = []
    for number, part in enumerate(rows.parts):
        path = folder.path / f"{number:06}.arrow"
        parts.append(_Part(store_part(path, _read_part(part, rows.steps))))
    return RowBatches(parts, folder=folder)


def store_part(path: Path, batches: Batches) -> Callable[[], Batches]:
    """Write the batches of one part to `path`, and return what reads them."""
    _write_batches(path, batches)
    return _StoredPart(str(path))


def put_column(batch: "pa.RecordBatch", name: str, values: "pa.Array") -> "pa.RecordBatch":
    """Return the batch with this column, in place of one that has the name."""
    if name in batch.schema.names:
        batch = batch.drop_columns([name])
    return batch.append_column(name, values)


def hash_columns(batch: "pa.RecordBatch", names: Sequence[str]) -> "np.ndarray":
    """Return a 64-bit hash of these columns, together, of each row."""
    import pandas as pd

    return pd.util.hash_pandas_object(batch.select(names).to_pandas(), index=False).to_numpy()


@dataclass(frozen=True)
class _Part:
    """Where the batches of one part come from, and what `find_first` found of its rows."""

    read: Callable[[], Batches]
    first: tuple["np.ndarray", ...] = ()


class _Step(Protocol):
    """What is done with the batches of a part."""

    def __call__(self, batches: Batches, part: _Part) -> Batches: ...


@dataclass(frozen=True)
class _Change:
    """A function of each batch."""

    change: Callable[["pa.RecordBatch"], "pa.RecordBatch"]

    def __call__(self, batches: Batches, part: _Part) -> Batches:
        return map(self.change, batches)


@dataclass(frozen=True)
class _PutFirst:
    """Adds the column FIRST from what was found of the part."""

    place: int  # in `first` of the part

    def __call__(self, batches: Batches, part: _Part) -> Batches:
        import pyarrow as pa

        first = part.first[self.place]
        start = 0
        for batch in batches:
            end = start + batch.num_rows
            yield put_column(batch, FIRST, pa.array(first[start:end]))
            start = end


def _read_part(part: _Part, steps: Sequence[_Step]) -> Batches:
    batches = part.read()
    for step in steps:
        batches = step(batches, part)
    return batches


def _fold_part(
    steps: Sequence[_Step],
    measure: Callable[["pa.RecordBatch"], T],
    merge: Callable[[T, T], T],
    part: _Part,
) -> list[T]:
    """Return what was measured of the part as the only item; of a part without a batch none."""
    measured = map(measure, _read_part(part, steps))
    first = next(measured, None)
    return [] if first is None else [reduce(merge, measured, first)]


class _Folder:
    """A folder of temporary files, which is removed with the last reference to this."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="plumbline-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class _StoredPart:
    """Reads a file of batches; each reader opens it, so that two do not share a position."""

    path: str

    def __call__(self) -> Batches:
        import pyarrow as pa

        if Path(self.path).stat().st_size:  # else there was no batch, and so no schema
            options = pa.ipc.IpcReadOptions(use_threads=False)
            with (
                pa.OSFile(self.path) as source,
                pa.ipc.open_stream(source, options=options) as reader,
            ):
                yield from reader


def _write_part(path: Path, first: "pa.RecordBatch", rest: Batches) -> "pa.RecordBatch | None":
    """Write batches until the part is full; return the batch after them, if there is one."""
    following: list[pa.RecordBatch] = []

    def take() -> Batches:
        num_rows = first.num_rows
        yield first
        for batch in rest:
            if num_rows >= PART_ROWS:
                following.append(batch)
                return
            num_rows += batch.num_rows
            yield batch

    _write_batches(path, take())
    return following[0] if following else None


def _write_batches(path: Path, batches: Batches) -> None:
    """Write all batches, which have one schema."""
    import pyarrow as pa

    # Threads of Arrow would each keep memory of their own.
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with _name_file(path), ExitStack() as stack:
        file = stack.enter_context(path.open("wb"))
        writer = None
        for batch in batches:
            if writer is None:
                writer = stack.enter_context(pa.ipc.new_stream(file, batch.schema, options=options))
            writer.write_batch(batch)


@contextmanager
def _name_file(path: Path) -> Iterator[None]:
    """Let what the system refuses say which file it is about: Arrow does not."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def _hash_part(
    steps: Sequence[_Step], keys: Sequence[str], part: _Part
) -> tuple["np.ndarray", "np.ndarray"]:
    """Return the hash of the keys of each row, and its number."""
    import numpy as np

    hashes = [np.zeros(0, dtype=np.uint64)]
    numbers = [np.zeros(0, dtype=np.int64)]
    for batch in _read_part(part, steps):
        hashes.append(hash_columns(batch, keys))
        numbers.append(batch[ROW].to_numpy())
    return np.concatenate(hashes), np.concatenate(numbers)


def _find_first(hashed: list[tuple["np.ndarray", "np.ndarray"]]) -> list["np.ndarray"]:
    """Return for each row of each part the number of the earliest row with its keys."""
    import numpy as np

    if not hashed:
        return []
    ends = np.cumsum([len(numbers) for _, numbers in hashed])[:-1]
    hashes = np.concatenate([hashes for hashes, _ in hashed])
    numbers = np.concatenate([numbers for _, numbers in hashed])
    hashed.clear()
    order = np.argsort(hashes, kind="stable")  # equal hashes are adjacent, the earliest row first
    hashes = hashes[order]
    run_starts = np.arange(len(order))  # of sorted rows: where the run of equal hashes begins
    run_starts[1:][hashes[1:] == hashes[:-1]] = 0
    del hashes
    np.maximum.accumulate(run_starts, out=run_starts)
    earliest_rows = order[run_starts]
    del run_starts
    earliest_numbers = numbers[earliest_rows]
    del earliest_rows
    first = np.empty_like(earliest_numbers)
    first[order] = earliest_numbers
    return np.split(first, ends)
