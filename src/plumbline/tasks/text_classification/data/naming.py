"""Labels get their names, once the whole source was surveyed."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from plumbline.contract.rows import put_column
from plumbline.tasks.text_classification.data.label_cells import LabelCells
from plumbline.tasks.text_classification.data.labels import LabelNames
from plumbline.tasks.text_classification.data.policies import refuse_null
from plumbline.tasks.text_classification.data.source_rows import DROPPED, FOUND

if TYPE_CHECKING:
    import pyarrow as pa


class RowNamer:
    """Adds `label` to rows of the source; one that has no name drops its row, or is refused."""

    def __init__(self, cells: LabelCells, names: LabelNames, nulls: str) -> None:
        self._cells = cells
        self._names = names
        self._nulls = nulls  # data.policies.nulls

    def name_batches(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        """Yield the batches with a column `label`, which is null in rows that are dropped.

        Raises DataError for the first row that params refuse, after the rows before it.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in batches:
            labels = self._find_labels(batch)
            is_kept = pc.is_null(batch[DROPPED])
            is_null = pc.and_(is_kept, pc.is_null(labels))
            named = put_column(
                batch, "label", pc.if_else(is_kept, labels, pa.scalar(None, labels.type))
            )
            first = pc.index(is_null, True).as_py()
            if first >= 0 and self._nulls == "refuse":
                yield named.slice(0, first)
                spelling = batch[FOUND][first].as_py().strip()
                raise refuse_null("label", spelling, batch["id"][first].as_py())
            yield put_column(named, DROPPED, pc.if_else(is_null, "null_label", batch[DROPPED]))

    def _find_labels(self, batch: "pa.RecordBatch") -> "pa.Array":
        """Return the name of the label of each row, null where it has none."""
        import pyarrow as pa

        found = batch[FOUND].dictionary_encode()
        named = [self._cells.name(text, self._names) for text in found.dictionary.to_pylist()]
        return pa.array(named, pa.string()).take(found.indices)
