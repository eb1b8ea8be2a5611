"""What the leakage gate asks: are examples in two splits, although validation accepted them?"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from plumbline.contract.records import Leak
from plumbline.contract.rows import FIRST, ROW, RowBatches
from plumbline.tasks.text_classification.expectations import duplicates, recognition
from plumbline.tasks.text_classification.expectations.findings import HELD_OUT, make_excerpt
from plumbline.tasks.text_classification.expectations.text_rows import (
    collect_rows,
    count_rows,
    read_example_rows,
    select_splits,
    select_values,
)
from plumbline.tasks.text_classification.params import TextParams

MAX_EXAMPLES = 5


def find_leaks(params: TextParams, examples: Path) -> list[Leak]:
    """Find texts of validation and test that are, exactly or nearly, in a split before theirs.

    So are groups in two splits, where splits go by group, and values of metadata or numbers in the
    texts that come back with the label that they had.
    """
    columns = list(params.data.columns.metadata)
    if params.data.split.column is not None:
        columns.append(params.data.split.column)
    rows = read_example_rows(examples, columns)
    leaks = []
    for split, before in HELD_OUT.items():
        exact = duplicates.find_exact_leaks(rows, split, before)
        leaks.append(_build_leak("exact", split, rows, exact))
        near = duplicates.find_near_leaks(rows, split, before)
        leaks.append(_build_leak("near", split, rows, near))
        leaks.append(_build_leak("copy", split, rows, _find_copies(rows, split)))
        groups = recognition.find_shared_groups(rows, params, split, before)
        leaks.append(_build_leak("group", split, rows, groups))
    return leaks


def _find_copies(rows: RowBatches, split: str) -> dict[int, str]:
    """For each row of `split` with the text and label of an earlier one: that it is a copy."""
    marked = select_splits(rows, [split]).find_first(duplicates.COPY_KEYS)
    first = collect_rows(marked, [FIRST])[FIRST]
    return dict.fromkeys(first.index[first != first.index].tolist(), "a copy")


def _build_leak(
    kind: Literal["exact", "near", "group", "copy"],
    split: str,
    rows: RowBatches,
    findings: Mapping[int, str],
) -> Leak:
    own = select_splits(rows, [split])
    first = select_values(own, ROW, sorted(findings)[:MAX_EXAMPLES])
    examples = collect_rows(first, ["id", "text"])
    shown = tuple(
        f"{id_} ({make_excerpt(text)})"
        for id_, text in zip(examples["id"], examples["text"], strict=True)
    )
    return Leak(kind, split, len(findings), count_rows(own), shown)
