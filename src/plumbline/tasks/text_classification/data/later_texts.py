"""The texts of a given validation and test, which a row of an earlier split must not have."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from plumbline.tasks.text_classification.data.source_rows import COMPACT, DROPPED

if TYPE_CHECKING:
    import pyarrow as pa

LATER_SPLITS = {"train": ("validation", "test"), "validation": ("test",), "test": ()}


class LaterTexts:
    """Texts of rows whose split is given, with the place of the first row of each."""

    def __init__(self) -> None:
        self._places: dict[str, dict[int, str]] = {"validation": {}, "test": {}}

    def add(self, split: str, batches: "Iterable[pa.RecordBatch]") -> None:
        """Remember named rows, in the order of the source, but for those that are dropped."""
        import pyarrow.compute as pc

        places = self._places[split]
        for batch in batches:
            kept = batch.select(["id", COMPACT]).filter(pc.is_null(batch[DROPPED]))
            for place, compact in zip(*(column.to_pylist() for column in kept), strict=True):
                places.setdefault(compact, place)

    def is_empty(self) -> bool:
        """Whether no text is known."""
        return not any(self._places.values())

    def find_place(self, compact: int, split: str) -> str | None:
        """Return the place of the same text in a split after `split`, if there is one."""
        for later in LATER_SPLITS[split]:
            place = self._places[later].get(compact)
            if place is not None:
                return place
        return None
