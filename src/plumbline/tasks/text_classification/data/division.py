"""Each row gets its label and its split, or is dropped: without a label, or as another one's copy.

The rows wait in a database (`source_rows`); what follows from all of them together is SQL.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from plumbline.contract.task import SPLITS
from plumbline.tables.rows import StoredRows
from plumbline.tasks.text_classification.data.label_cells import LabelCells
from plumbline.tasks.text_classification.data.labels import LabelNames
from plumbline.tasks.text_classification.data.policies import PolicyCounts, refuse_null
from plumbline.tasks.text_classification.data.splits import AssignSplit

if TYPE_CHECKING:
    import pyarrow as pa

LIST_FOUND = 'SELECT DISTINCT "#found" AS found FROM rows WHERE "#dropped" IS NULL'
NAME_LABELS = """
    CREATE TABLE labels AS SELECT unnest(?::VARCHAR[]) AS "#found", unnest(?::VARCHAR[]) AS label
"""
# Rows with `policy`, for which they are dropped, or `label`.
NAME_ROWS = """
    CREATE VIEW named AS
    SELECT rows.*, if("#dropped" IS NULL, label, NULL) AS label,
        coalesce("#dropped", if(label IS NULL, 'null_label', NULL)) AS policy
    FROM rows LEFT JOIN labels USING ("#found")
"""
FIND_NAMELESS = """
    SELECT id, "#found" FROM named WHERE policy = 'null_label' ORDER BY "#row" LIMIT 1
"""
READ_NAMED = """SELECT {columns} FROM named WHERE policy IS NULL ORDER BY "#row" """
# In validation and test, each text counts once for a label: doubled rows would let a few texts
# decide a score. In train a copy may stay: there it is a weight that the data have.
FIND_COPIES = """
    CREATE TABLE divided AS
    SELECT "#row", split, split <> 'train' AND row_number() OVER (
        PARTITION BY split, label, "#compact" ORDER BY "#row"
    ) > 1 AS is_copy
    FROM named JOIN splits USING ("#row")
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
        WHERE policy IS NULL AND "#given" IN ('validation', 'test')
    ) AS later USING ("#compact")
    WHERE NOT is_copy AND later.nth > list_position(?, split)
    GROUP BY ALL
"""
DIVIDE = """
    CREATE VIEW counted AS
    SELECT * FROM named LEFT JOIN divided USING ("#row") LEFT JOIN leaked USING ("#row")
"""
KEEP = """
    CREATE TABLE kept AS SELECT "#row", label, split FROM counted
    WHERE policy IS NULL AND NOT is_copy AND later IS NULL
"""
READ_KEPT = 'SELECT * FROM rows JOIN kept USING ("#row") WHERE {part}'
# policy -> which rows met it, what is shown of each, and how their values were spelled
POLICIES = {
    "null_text": ("policy = 'null_text'", "id", '"#found"'),
    "null_label": ("policy = 'null_label'", "id", '"#found"'),
    "label_respelled": ('label <> "#found"', "id", '"#found"'),
    "truncated": ("policy IS NULL AND truncated", "id", "NULL"),
    "decoded": ("policy IS NULL AND decoded", "id", "NULL"),
    "nul_kept": ('policy IS NULL AND "#nul"', "id", "NULL"),
    "copy": ("is_copy", "id", "NULL"),
    "leaked": ("later IS NOT NULL", "id || ' (as ' || later || ')'", "NULL"),
}


def name_rows(rows: StoredRows, cells: LabelCells, names: LabelNames, nulls: str) -> None:
    """Add the view `named`; DataError for the first row without a name, if `nulls` is refuse."""
    found = rows.query(LIST_FOUND)["found"].tolist()
    rows.query(NAME_LABELS, found, [cells.name(text, names) for text in found])
    rows.query(NAME_ROWS)
    nameless = rows.query(FIND_NAMELESS).itertuples(index=False, name=None)
    for place, spelling in nameless:
        if nulls == "refuse":
            raise refuse_null("label", spelling.strip(), place)


def read_dividers(rows: StoredRows, divider: str) -> Iterator[tuple[str | None, str]]:
    """Yield the values that named rows are divided by, each with its place."""
    query = READ_NAMED.format(columns=f'"{divider}", id, "#given"')
    for batch in rows.read(query):
        for value, place, given in zip(*(column.to_pylist() for column in batch), strict=True):
            if given in (None, "train"):
                yield value, place


def divide_rows(
    rows: StoredRows, assign: AssignSplit, divider: str | None, *, drops_leaked: bool
) -> PolicyCounts:
    """Add the table `kept`, with label and split, and return how many rows met which policy."""
    rows.add_table("splits", _choose_splits(rows, assign, divider))
    rows.query(FIND_COPIES)
    rows.query(FIND_LATER + ("" if drops_leaked else "LIMIT 0"), list(SPLITS), list(SPLITS))
    rows.query(DIVIDE)
    rows.query(KEEP)
    counts = PolicyCounts(int(rows.query("SELECT count(*) AS size FROM rows")["size"][0]))
    for policy, (condition, place, spelling) in POLICIES.items():
        query = f'SELECT {place}, {spelling} FROM counted WHERE {condition} ORDER BY "#row"'  # noqa: S608
        for batch in rows.read(query):
            places, spellings = (column.to_pylist() for column in batch)
            if policy.startswith("null_"):
                spellings = [spelling.strip() for spelling in spellings]
            counts.add_rows(policy, places, spellings)
    return counts


def _choose_splits(
    rows: StoredRows, assign: AssignSplit, divider: str | None
) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    value = "NULL" if divider is None else f'"{divider}"'
    columns = f'"#row", "#given", digest, {value}, id'
    yield pa.record_batch({"#row": pa.array([], pa.int64()), "split": pa.array([], pa.string())})
    for batch in rows.read(READ_NAMED.format(columns=columns)):
        numbers, *values = (column.to_pylist() for column in batch)
        splits = []
        for given, digest, value, place in zip(*values, strict=True):
            is_fixed = given in ("validation", "test")
            splits.append(given if is_fixed else assign(digest, value, place))
        yield pa.record_batch({"#row": numbers, "split": pa.array(splits, pa.string())})
