"""Each named row goes to its split, or is dropped as a copy of a row that counts already."""

import itertools
from typing import TYPE_CHECKING

from plumbline.contract.rows import put_column
from plumbline.tasks.text_classification.data.copies import HeldOutRows
from plumbline.tasks.text_classification.data.later_texts import LaterTexts
from plumbline.tasks.text_classification.data.policies import PolicyCounts
from plumbline.tasks.text_classification.data.source_rows import (
    COMPACT,
    DROPPED,
    FOUND,
    HAS_NUL,
    filter_rows,
)
from plumbline.tasks.text_classification.data.splits import AssignSplit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class RowDivision:
    """Divides rows, which come in the order of the source; `counts` has those that it was given."""

    def __init__(self, assign: AssignSplit, divider: str | None, later: LaterTexts) -> None:
        self.counts = PolicyCounts()
        self._assign = assign
        self._divider = divider  # `find_divider`
        self._later = later
        self._held_out = HeldOutRows()

    def divide(self, batch: "pa.RecordBatch", given: str | None) -> "pa.RecordBatch":
        """Return the rows that are kept, with a column `split`.

        `given` is the split of the source, if it names one; rows of train may be divided further.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        self.counts.num_rows += batch.num_rows
        for policy in ("null_text", "null_label"):
            dropped = batch.filter(pc.equal(batch[DROPPED], policy))
            spellings = [value.strip() for value in dropped[FOUND].to_pylist()]
            self.counts.add_rows(policy, dropped["id"].to_pylist(), spellings)
        rows = filter_rows(batch, pc.is_null(batch[DROPPED]))
        self._count_changes(rows)
        splits = self._choose_splits(rows, given)
        rows = put_column(rows, "split", pa.array(splits, pa.string()))
        return filter_rows(rows, pa.array(self._find_kept(rows, splits)))

    def _count_changes(self, rows: "pa.RecordBatch") -> None:
        import pyarrow.compute as pc

        respelled = rows.filter(pc.not_equal(rows["label"], rows[FOUND]))
        self.counts.add_rows(
            "label_respelled", respelled["id"].to_pylist(), respelled[FOUND].to_pylist()
        )
        for policy, column in (
            ("truncated", "truncated"),
            ("decoded", "decoded"),
            ("nul_kept", HAS_NUL),
        ):
            self.counts.add_rows(policy, rows.filter(rows[column])["id"].to_pylist())

    def _choose_splits(self, rows: "pa.RecordBatch", given: str | None) -> list[str]:
        if given in ("validation", "test"):
            return [given] * rows.num_rows
        values: list[str | None] = [None] * rows.num_rows
        if self._divider is not None:
            values = rows[self._divider].to_pylist()
        columns = zip(rows["digest"].to_pylist(), values, rows["id"].to_pylist(), strict=True)
        return [self._assign(digest, value, place) for digest, value, place in columns]

    def _find_kept(self, rows: "pa.RecordBatch", splits: list[str]) -> "np.ndarray":
        """Whether each row is kept: no copy in its held-out split, and in no later split."""
        places = rows["id"].to_pylist()
        compact = rows[COMPACT].to_numpy()
        is_copy = self._held_out.find_copies(splits, rows["label"].to_pylist(), compact)
        self.counts.add_rows("copy", itertools.compress(places, is_copy))
        is_kept = ~is_copy
        if not self._later.is_empty():
            for number in is_kept.nonzero()[0].tolist():
                copy = self._later.find_place(int(compact[number]), splits[number])
                if copy is not None:
                    self.counts.add_rows("leaked", [f"{places[number]} (as {copy})"])
                    is_kept[number] = False
        return is_kept
