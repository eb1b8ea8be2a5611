"""The rows of a data set with their texts, in batches; what is computed of a text is so once."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from plumbline.contract.errors import DataError
from plumbline.contract.manifest import Manifest
from plumbline.contract.rows import (
    FIRST,
    ROW,
    RowBatches,
    put_column,
    store_batches,
    store_rows,
)
from plumbline.contract.task import SPLITS
from plumbline.tasks.text_classification.data import normalise, read_batches
from plumbline.tasks.text_classification.expectations.text_chunks import cut_texts, merge_first

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

T = TypeVar("T")


def read_manifest_rows(manifest: Manifest, examples: Path, columns: Sequence[str]) -> RowBatches:
    """Return these columns of the manifest, in its order, with `text`, `normal` and `compact`.

    Raises DataError where examples are not those of the manifest.
    """
    import pyarrow as pa

    def read_texts() -> Iterator["pa.RecordBatch"]:
        texts = {split: _SplitTexts(examples, split) for split in SPLITS}
        for batch in manifest.read_batches(columns):
            for start, chunk in cut_texts(_take_texts(batch, texts)):
                rows = batch.slice(start, len(chunk))
                yield put_column(rows, "text", pa.array(chunk, pa.string()))

    rows = store_batches(_number_rows(read_texts(), 0))
    return store_rows(rows.map(_add_comparison_forms))


def read_example_rows(examples: Path, columns: Sequence[str]) -> RowBatches:
    """Return `id`, `split`, `label`, these columns, and forms of the text: one split after another.

    A column that the examples do not have is left out.
    """
    batches = _read_splits(examples, ("id", "label", "text", *columns))
    return store_rows(store_batches(_number_rows(batches, 0)).map(_add_comparison_forms))


def select_splits(rows: RowBatches, splits: Sequence[str]) -> RowBatches:
    """Return the rows of these splits."""
    return select_values(rows, "split", splits)


def select_values(rows: RowBatches, column: str, values: Sequence[Any]) -> RowBatches:
    """Return the rows that have one of these values in a column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.array(values)

    def select(batch: "pa.RecordBatch") -> "pa.RecordBatch":
        own = batch[column]
        return batch.filter(pc.is_in(own, wanted.cast(own.type)))

    return rows.map(select)


def drop_repeated(rows: RowBatches, keys: Sequence[str]) -> RowBatches:
    """Return the earliest row of each combination of keys."""
    import pyarrow.compute as pc

    return rows.find_first(keys).map(lambda batch: batch.filter(pc.equal(batch[FIRST], batch[ROW])))


def collect_rows(rows: RowBatches, columns: Sequence[str]) -> "pd.DataFrame":
    """Return these columns of all rows; the index is the number of the row."""
    import pyarrow as pa

    names = [ROW, *columns]
    batches = rows.fold(lambda batch: [batch.select(names)], _extend)
    collected: pd.DataFrame = pa.Table.from_batches(batches).to_pandas()
    return collected.set_index(ROW)


def count_rows(rows: RowBatches) -> int:
    """Return how many rows there are."""
    sizes = rows.fold(lambda batch: [batch.num_rows], _extend)
    return sum(sizes)


def draw_rows(rows: RowBatches, size: int, columns: Sequence[str]) -> "pd.DataFrame":
    """Draw up to so many rows at random, the same ones each time, in an order that is drawn too."""
    numbers = collect_rows(rows, []).index.tolist()
    drawn = random.Random(0).sample(numbers, min(size, len(numbers)))  # noqa: S311 - no secrets
    return collect_rows(select_values(rows, ROW, drawn), columns).loc[drawn]


def map_first_ids(rows: RowBatches, column: str, values: Iterable[str]) -> dict[str, str]:
    """Map those of `values` that the column has to the id of the first row with it."""
    wanted = set(values)

    def find(batch: "pa.RecordBatch") -> dict[str, str]:
        first: dict[str, str] = {}
        for value, id_ in zip(batch[column].to_pylist(), batch["id"].to_pylist(), strict=True):
            if value in wanted:
                first.setdefault(value, id_)
        return first

    return rows.fold(find, merge_first)


@dataclass(frozen=True)
class TextColumn:
    """One text of each row."""

    rows: RowBatches
    name: str

    def fold(self, measure: Callable[[list[str]], T], merge: Callable[[T, T], T], start: T) -> T:
        """Measure each chunk, and merge what was measured, in order, into `start`."""
        measured = self.rows.fold(
            partial(_measure_chunks, self.name, measure, merge), partial(_merge_measured, merge)
        )
        return reduce(merge, measured, start)


def _measure_chunks(
    name: str,
    measure: Callable[[list[str]], T],
    merge: Callable[[T, T], T],
    batch: "pa.RecordBatch",
) -> list[T]:
    """Return what was measured of the texts of a batch as the only item; without texts none."""
    measured = [measure(chunk) for _, chunk in cut_texts(batch[name].to_pylist())]
    return [reduce(merge, measured)] if measured else []


def _merge_measured(merge: Callable[[T, T], T], one: list[T], other: list[T]) -> list[T]:
    if one and other:
        return [merge(one[0], other[0])]
    return one or other


def _extend(one: list[T], other: list[T]) -> list[T]:
    one.extend(other)
    return one


def _read_splits(examples: Path, columns: Sequence[str]) -> Iterator["pa.RecordBatch"]:
    """Yield columns of one split after another, and `split`."""
    import pyarrow as pa

    for split in SPLITS:
        for batch in read_batches(examples, split, columns):
            yield put_column(batch, "split", pa.array([split] * batch.num_rows, pa.string()))


def _number_rows(batches: Iterable["pa.RecordBatch"], start: int) -> Iterator["pa.RecordBatch"]:
    """Number the rows, from `start`."""
    import pyarrow as pa

    for batch in batches:
        end = start + batch.num_rows
        yield put_column(batch, ROW, pa.array(range(start, end), pa.int64()))
        start = end


def _add_comparison_forms(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    import pyarrow as pa

    forms = [normalise(text) for text in batch["text"].to_pylist()]
    compact = [form.replace(" ", "") for form in forms]
    batch = put_column(batch, "normal", pa.array(forms, pa.string()))
    return put_column(batch, "compact", pa.array(compact, pa.string()))


def _take_texts(batch: "pa.RecordBatch", texts: "dict[str, _SplitTexts]") -> Iterator[str]:
    """Yield the text of each row of the manifest: the next one in the examples of its split."""
    for id_, split in zip(batch["id"].to_pylist(), batch["split"].to_pylist(), strict=True):
        yield texts[split].take(id_)


class _SplitTexts:
    """The texts of one split, one after another."""

    def __init__(self, examples: Path, split: str) -> None:
        self._place = f"{examples}: {split}"
        self._texts = self._read(examples, split)

    def take(self, id_: str) -> str:
        """Return the next text, which has to be that of the row `id_`."""
        own, text = next(self._texts, (None, ""))
        if own != id_:
            actual = "no more rows" if own is None else own
            raise DataError(
                f"{self._place}: expected {id_} as in the manifest, found {actual}; "
                "run `dvc repro -f ingest`"
            )
        return text

    def _read(self, examples: Path, split: str) -> Iterator[tuple[str, str]]:
        for batch in read_batches(examples, split, ["id", "text"]):
            yield from zip(batch["id"].to_pylist(), batch["text"].to_pylist(), strict=True)
