"""Examples from which nothing can be learned: the same texts, their labels shuffled."""

from pathlib import Path

from plumbline.contract.task import LABEL_SET
from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification.data.label_sets import choose_list_labels, serialize_labels
from plumbline.tasks.text_classification.data.storage import count_rows, has_label_sets, read_rows


def shuffle_labels(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    """Write train and validation of `examples` to `target`, their labels shuffled.

    At most `max_rows` rows of each are kept, and of validation only labels that train has.
    """
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(seed)
    known: set[str] = set()
    for split in ("train", "validation"):
        has_sets = has_label_sets(examples, split)
        numbers = random.permutation(count_rows(examples, split))[:max_rows]
        table = read_rows(examples, split, numbers.tolist())
        labels = random.permutation(np.array(table["label"].to_pylist(), dtype=object)).tolist()
        columns = {"label": labels}
        if has_sets:
            columns[LABEL_SET] = list(map(serialize_labels, labels))
        for column, values in columns.items():
            index = table.schema.get_field_index(column)
            table = table.set_column(index, column, pa.array(values, pa.string()))
        own = list(map(choose_list_labels(has_sets), labels))
        if not known:
            known = set().union(*own)
        is_known = pa.array([known.issuperset(each) for each in own])
        write_split(target, split, table.filter(is_known))
