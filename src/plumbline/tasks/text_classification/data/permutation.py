"""Examples from which nothing can be learned: the same texts, their labels shuffled."""

from pathlib import Path

from plumbline.tasks.text_classification.data.reading import read


def permuted(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    """Write `examples` to `target` with the labels of train and validation shuffled; at most `max_rows` of each."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(seed)
    known: set[str] = set()
    for split in ("train", "validation"):
        table = read(examples, split)
        table = table.take(random.permutation(len(table))[:max_rows])
        labels = random.permutation(np.array(table["label"].to_pylist(), dtype=object)).tolist()
        table = table.set_column(
            table.schema.get_field_index("label"), "label", pa.array(labels, pa.string())
        )
        known = known or set(labels)
        pq.write_table(
            table.filter(pa.array([label in known for label in labels])),
            target / f"{split}.parquet",
        )
