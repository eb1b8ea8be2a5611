"""Examples from which nothing can be learned: the same texts, their labels shuffled."""

from pathlib import Path

from plumbline.tasks.text_classification.data.storage import read_split


def shuffle_labels(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    """Write train and validation of `examples` to `target`, their labels shuffled.

    At most `max_rows` rows of each are kept, and of validation only labels that train has.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(seed)
    known: set[str] = set()
    for split in ("train", "validation"):
        table = read_split(examples, split)
        table = table.take(random.permutation(len(table))[:max_rows])
        labels = random.permutation(np.array(table["label"].to_pylist(), dtype=object)).tolist()
        index = table.schema.get_field_index("label")
        table = table.set_column(index, "label", pa.array(labels, pa.string()))
        if not known:
            known = set(labels)
        is_known = pa.array([label in known for label in labels])
        pq.write_table(table.filter(is_known), target / f"{split}.parquet")
