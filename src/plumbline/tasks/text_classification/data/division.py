"""Each row gets its label and its split, or is dropped: without a label, or as another one's copy.

The rows wait in a database (`source_rows`); what follows from all of them together is SQL.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Any

from plumbline.contract.task import SPLITS
from plumbline.sources.labelled_requests import WHICH
from plumbline.tables.rows import ROW, StoredRows
from plumbline.tasks.text_classification.data.label_cells import LabelCells
from plumbline.tasks.text_classification.data.labels import (
    LabelNames,
    name_labels,
    refuse_vanished,
)
from plumbline.tasks.text_classification.data.policies import (
    RowCount,
    count_policies,
    refuse_null,
)
from plumbline.tasks.text_classification.data.source_rows import find_divider
from plumbline.tasks.text_classification.data.splits import AssignSplit, find_point, plan_splits
from plumbline.tasks.text_classification.data.stratification import MAX_POINTS
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pyarrow as pa

# Labels as they are found: of rows that can be used, and of those whose text is a null-like word.
COUNT_FOUND = """
    SELECT "#found", "#dropped" IS NULL, count(*) FROM rows
    WHERE "#dropped" IS NULL OR ("#dropped" = 'null_text' AND text <> '' AND "#found" <> '')
    GROUP BY ALL ORDER BY min("#row")
"""
NAME_LABELS = """
    CREATE TABLE labels AS SELECT unnest(?::VARCHAR[]) AS "#found", unnest(?::VARCHAR[]) AS label
"""
# Rows with `policy`, for which they are dropped, or `label`; and `origin`, of labelled requests.
NAME_ROWS = """
    CREATE VIEW named AS
    SELECT rows.*, regexp_extract(id, '{which}', 1) AS origin,
        if("#dropped" IS NULL, label, NULL) AS label,
        coalesce("#dropped", if(label IS NULL, 'null_label', NULL)) AS policy
    FROM rows LEFT JOIN labels USING ("#found")
"""
FIND_NAMELESS = """
    SELECT id, "#found" FROM named WHERE policy = 'null_label' ORDER BY "#row" LIMIT 1
"""
READ_UNDIVIDED = """
    SELECT "#row", label, digest, {value}, id, origin FROM named
    WHERE policy IS NULL AND ("#given" IS NULL OR "#given" = 'train') ORDER BY "#row"
"""
# In validation and test, each text counts once for a label: doubled rows would let a few texts
# decide a score. In train a copy may stay: there it is a weight that the data have. Rows that were
# chosen to be labelled would choose the score: only train has them.
FIND_COPIES = """
    CREATE TABLE divided AS
    SELECT "#row", split, split <> 'train' AND is_chosen AS is_barred,
        split <> 'train' AND NOT is_chosen AND row_number() OVER (
            PARTITION BY split, label, "#compact" ORDER BY is_chosen, "#row"
        ) > 1 AS is_copy
    FROM (
        SELECT "#row", label, "#compact", coalesce(drawn, "#given") AS split,
            origin = 'chosen' AS is_chosen
        FROM named LEFT JOIN splits USING ("#row") WHERE policy IS NULL
    )
"""
# The place of the first row with the same text in a later split, of those that are given.
FIND_LATER = """
    CREATE TABLE leaked AS
    SELECT earlier."#row",
        min({'split': later.nth, 'row': later."#row", 'id': later.id})['id'] AS later
    FROM named AS earlier
    JOIN divided USING ("#row")
    JOIN (
        SELECT "#compact", "#row", id, list_position(?, "#given") AS nth FROM named
        WHERE policy IS NULL AND "#given" IN ('validation', 'test') AND origin <> 'chosen'
    ) AS later USING ("#compact")
    WHERE NOT is_copy AND NOT is_barred AND later.nth > list_position(?, split)
    GROUP BY ALL
"""
DIVIDE = """
    CREATE VIEW counted AS
    SELECT * FROM named LEFT JOIN divided USING ("#row") LEFT JOIN leaked USING ("#row")
"""
KEEP = """
    CREATE TABLE kept AS SELECT "#row", label, split FROM counted
    WHERE policy IS NULL AND NOT is_copy AND NOT is_barred AND later IS NULL
"""
READ_KEPT = 'SELECT * FROM rows JOIN kept USING ("#row") WHERE {part}'
COUNT_KEPT = """
    SELECT split, label, coalesce(noisy, false), regexp_extract(id, ?, 1), count(*)
    FROM rows JOIN kept USING ("#row")
    GROUP BY ALL ORDER BY min("#row")
"""


def name_rows(rows: StoredRows, cells: LabelCells, nulls: str) -> LabelNames:
    """Add the view `named`, and return what labels are called in it.

    Raises DataError for the first row without a name, if `nulls` is refuse, and for a class of
    which no row would be left.
    """
    found = rows.query(COUNT_FOUND)
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for text, is_used, size in found.itertuples(index=False, name=None):
        for label in cells.list_labels(text):
            counts[is_used][label] += size
    refuse_vanished(counts[False], counts[True])
    names = name_labels(counts[True])
    texts = found.iloc[:, 0].unique().tolist()
    rows.query(NAME_LABELS, texts, [cells.name(text, names) for text in texts])
    rows.query(NAME_ROWS.format(which=WHICH))
    for place, spelling in rows.query(FIND_NAMELESS).itertuples(index=False, name=None):
        if nulls == "refuse":
            raise refuse_null("label", spelling.strip(), place)
    return names


def divide_rows(
    rows: StoredRows, params: TextParams, cells: LabelCells, given: Set[str | None]
) -> dict[str, RowCount]:
    """Add the table `kept`, with label and split, and return how many rows met which policy.

    `given` holds the split of each part.
    """
    split = params.data.split
    value = find_divider(params)
    classes: defaultdict[str, set[float]] = defaultdict(set)
    chosen: set[float] = set()  # these points stay where they are
    if split.by != "time" and not given >= set(SPLITS):
        for _, label, digest, own, place, origin in _read_undivided(rows, value):
            point = find_point(split, digest, own, place)
            if origin == "chosen":
                chosen.add(point)
            for name in cells.list_labels(label):
                if len(classes[name]) < MAX_POINTS:
                    classes[name].add(point)
    movable = {name: points - chosen for name, points in classes.items()}
    assign = plan_splits(split, given, lambda: _read_days(rows, value), movable)
    rows.add_table("splits", _choose_splits(rows, assign, value))
    rows.query(FIND_COPIES)
    limit = "" if params.data.policies.leakage == "drop" else "LIMIT 0"
    rows.query(FIND_LATER + limit, list(SPLITS), list(SPLITS))
    rows.query(DIVIDE)
    rows.query(KEEP)
    return count_policies(rows)


def _read_undivided(rows: StoredRows, value: str) -> Iterator[tuple[Any, ...]]:
    """Yield number, label, digest, the value to divide by, place and origin of undivided rows."""
    for batch in rows.read(READ_UNDIVIDED.format(value=value)):
        yield from zip(*(column.to_pylist() for column in batch), strict=True)


def _read_days(rows: StoredRows, value: str) -> Iterator[tuple[str | None, str]]:
    """Of chosen rows none: the newest ones would push all others out of the test split."""
    for *_, day, place, origin in _read_undivided(rows, value):
        if origin != "chosen":
            yield day, place


def _choose_splits(rows: StoredRows, assign: AssignSplit, value: str) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    yield pa.record_batch({ROW: pa.array([], pa.int64()), "drawn": pa.array([], pa.string())})
    for batch in rows.read(READ_UNDIVIDED.format(value=value)):
        drawn = map(assign, *(column.to_pylist() for column in batch.columns[2:5]))
        yield pa.record_batch({ROW: batch[ROW], "drawn": pa.array(drawn, pa.string())})
