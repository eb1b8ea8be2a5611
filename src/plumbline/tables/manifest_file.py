"""The manifest on disk, of which each reader takes the columns and rows that it needs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.contract.errors import explain_damage
from plumbline.tables.parquet_batches import read_row_groups

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True)
class Manifest:
    """A file such as data/manifest.parquet; what cannot be read raises DataError."""

    path: Path
    remedy: str = "run `dvc repro ingest`"

    def list_columns(self) -> list[str]:
        """Return the names of its columns."""
        import pyarrow.parquet as pq

        with explain_damage(self.path, self.remedy):
            return list(pq.read_schema(self.path).names)

    def read(self, columns: Sequence[str] | None = None) -> "pd.DataFrame":
        """Return all rows, in order."""
        import pandas as pd

        with explain_damage(self.path, self.remedy):
            return pd.read_parquet(self.path, columns=None if columns is None else list(columns))

    def read_batches(self, columns: Sequence[str] | None = None) -> Iterator["pa.RecordBatch"]:
        """Yield all rows, in order, a few thousand at a time."""
        with explain_damage(self.path, self.remedy):
            yield from read_row_groups(self.path, columns)

    def read_held_out(self) -> "pd.DataFrame":
        """Return the rows of held-out splits, in order, and one of train for each of its labels."""
        import pyarrow as pa

        parts = []
        known: set[str] = set()
        for batch in self.read_batches():
            rows = batch.select(["split", "label"]).to_pandas()
            train = rows[rows["split"] == "train"].drop_duplicates("label")
            is_new = ~train["label"].isin(list(known))
            known.update(train["label"])
            is_needed = (rows["split"] != "train") | rows.index.isin(train.index[is_new])
            parts.append(batch.filter(pa.array(is_needed)))
        held_out: pd.DataFrame = pa.Table.from_batches(parts).to_pandas()
        return held_out

    def summarise(self) -> "ManifestSummary":
        """Count what can be counted in one reading."""
        sizes: Counter[tuple[str, str]] = Counter()
        lengths: Counter[int] = Counter()
        for batch in self.read_batches(["split", "label", "length"]):
            rows = batch.to_pydict()
            sizes.update(zip(rows["split"], rows["label"], strict=True))
            lengths.update(rows["length"])
        return ManifestSummary(sizes, lengths)


@dataclass(frozen=True)
class ManifestSummary:
    """How many rows there are of each kind, as they are met."""

    sizes: Counter[tuple[str, str]]  # of (split, label)
    lengths: Counter[int]

    def count_rows(self, split: str) -> int:
        """Return how many rows a split has."""
        return sum(size for (own, _), size in self.sizes.items() if own == split)

    def count_labels(self, split: str) -> Counter[str]:
        """Return the rows of each label in a split."""
        return Counter({label: size for (own, label), size in self.sizes.items() if own == split})
