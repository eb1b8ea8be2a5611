"""What changed between two manifests: rows of each split, and classes."""

import tempfile
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.contract.task import CONTENT_DIGEST, LABEL_SET, SPLITS
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.rows import CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import pandas as pd

OLD, NEW = "old", "new"
# Of each row what is compared; hashes have 64 bits.
READ_ROWS = """
    CREATE TEMP TABLE {table} AS
    SELECT file_row_number AS row, split, label, hash(id) AS id, hash(digest) AS digest,
        {contents} AS contents, {groups} AS groups
    FROM {table}_file
"""
# Two rows are one example if they have equal values of the first of these, else of the next.
EXAMPLE_KEYS = ("id, digest", "digest", "id")
# Rows with equal keys are paired in their order.
PAIR_EXAMPLES = """
    INSERT INTO pairs
    SELECT before.row, after.row
    FROM (
        SELECT {keys}, row, row_number() OVER (PARTITION BY {keys} ORDER BY row) AS nth
        FROM old ANTI JOIN pairs ON old.row = pairs.old_row
    ) AS before
    JOIN (
        SELECT {keys}, row, row_number() OVER (PARTITION BY {keys} ORDER BY row) AS nth
        FROM new ANTI JOIN pairs ON new.row = pairs.new_row
    ) AS after
    USING ({keys}, nth)
"""
COUNT_EXAMPLES = """
    SELECT old.split AS old_split, new.split AS new_split,
        old.label AS old_label, new.label AS new_label,
        old.digest <> new.digest OR old.contents <> new.contents AS is_changed,
        old.groups <> new.groups AS is_regrouped,
        count(*) AS size
    FROM pairs
    JOIN old ON old.row = pairs.old_row
    JOIN new ON new.row = pairs.new_row
    GROUP BY ALL
"""
# The test rows of today that may not be as they were.
LIST_TEST_ROWS = """
    SELECT row_number() OVER (ORDER BY new.row) - 1 AS place, coalesce(
        old.split = new.split AND old.digest = new.digest AND old.contents = new.contents, false
    ) AS is_old, old.label AS old_label, new.label AS new_label
    FROM new
    LEFT JOIN pairs ON new.row = pairs.new_row
    LEFT JOIN old ON old.row = pairs.old_row
    WHERE new.split = 'test'
    QUALIFY NOT is_old OR old_label <> new_label
    ORDER BY place
"""
COUNT_ROWS = "SELECT split, count(*) FROM {table} GROUP BY split"


def compare_manifests(
    before: Manifest, now: Manifest, slices: Sequence[str] = ()
) -> dict[str, Any]:
    """Count what changed in every split.

    Two rows are one example if id and digest are equal, else if the digest is (its row moved), else
    if the id is. A column that one manifest does not have is not compared; `slices` are the columns
    that slices are made of. DataError where a file cannot be read. Keys of the answer:

        same        whether no example was added or removed, moved, or changed in any way below
        splits      the counts below, for each split
        renames     the old name of each renamed class: its new one
        test_rows   which rows of the test split are `new` there or changed, and which `relabelled`
                    (not only renamed), counted from 0; how many others of before are `gone`

    Of a split; an example counts where it is now, as removed and moved_out where it was:

        before, after        rows in the old manifest, and in the new one
        added, removed       rows that are no example of the other manifest
        changed              examples of another digest, or CONTENT_DIGEST
        regrouped            examples in other groups by the columns of slices
        relabelled           examples with another label
        renamed              those of them whose class, with all its examples and no others, has
                             another name now; never of sets of labels, most of which occur once
        moved_in, moved_out  examples that were, or are now, in another split
        altered              rows of the old split that are removed, moved out, changed, regrouped
                             or relabelled (not only renamed), and rows that were moved in changed,
                             regrouped or relabelled; each counts once
    """
    columns = {OLD: before.list_columns(), NEW: now.list_columns()}
    with _open_database(before, now) as database:
        for table, manifest in ((OLD, before), (NEW, now)):
            file = database.read_parquet(str(manifest.path), file_row_number=True)
            file.create_view(f"{table}_file")
        _read_rows(database, columns, slices)
        sizes = {table: _count_rows(database, table) for table in columns}
        examples = _count_examples(database)
        listed = database.execute(LIST_TEST_ROWS).fetchall()
    changes = _count_changes(examples, sizes, has_sets=LABEL_SET in columns[NEW])
    renames, test = changes["renames"], changes["splits"]["test"]
    fresh = [place for place, is_old, *_ in listed if not is_old]
    others = [place for place, is_old, old, new in listed if is_old and renames.get(old) != new]
    gone = test["before"] - test["after"] + len(fresh)
    return changes | {"test_rows": {"gone": gone, "relabelled": others, "new": fresh}}


@contextmanager
def _open_database(before: Manifest, now: Manifest) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Open an empty database for a comparison; DataError where a manifest cannot be read."""
    import duckdb

    try:
        with (
            tempfile.TemporaryDirectory(prefix="plumbline-") as folder,
            duckdb.connect(config=CONFIG | {"temp_directory": folder}) as database,
        ):
            yield database
    except duckdb.Error as error:
        found = " ".join(str(error).split())
        damaged = now if str(now.path) in found else before
        raise DataError(f"{damaged.path}: cannot be compared ({found}); {damaged.remedy}") from None


def _count_rows(database: "duckdb.DuckDBPyConnection", table: str) -> dict[str, int]:
    """Map each split to the number of its rows."""
    return dict(database.execute(COUNT_ROWS.format(table=table)).fetchall())


def _read_rows(
    database: "duckdb.DuckDBPyConnection", columns: dict[str, list[str]], slices: Sequence[str]
) -> None:
    """Make the tables `old` and `new`; a column that one manifest lacks is 0 in both."""
    groups = sorted({*columns[OLD]}.intersection(columns[NEW], slices) - {"split", "label"})
    has_contents = all(CONTENT_DIGEST in names for names in columns.values())
    for table, names in columns.items():
        query = READ_ROWS.format(
            table=table,
            contents=_write_hash(names, [CONTENT_DIGEST] if has_contents else []),
            groups=_write_hash(names, groups),
        )
        database.execute(query)


def _write_hash(names: Sequence[str], wanted: Sequence[str]) -> str:
    """Write a hash of columns by their numbers in `names`: to SQL, `ID` and `id` are one name."""
    numbers = [f"#{names.index(name) + 1}" for name in wanted]
    return f"hash({', '.join(numbers)})" if numbers else "0"


def _count_examples(database: "duckdb.DuckDBPyConnection") -> "pd.DataFrame":
    """Count the examples of both manifests that changed in the same way, as `size`."""
    database.execute("CREATE TEMP TABLE pairs (old_row BIGINT, new_row BIGINT)")
    for keys in EXAMPLE_KEYS:
        database.execute(PAIR_EXAMPLES.format(keys=keys))
    return database.execute(COUNT_EXAMPLES).df()


def _count_changes(
    examples: "pd.DataFrame", sizes: dict[str, dict[str, int]], *, has_sets: bool
) -> dict[str, Any]:
    """Return `same`, `splits` and `renames` of `compare_manifests`."""
    relabelled = examples["old_label"] != examples["new_label"]
    renamed = relabelled & _is_renamed(examples["old_label"], examples["new_label"])
    if has_sets:
        renamed[:] = False
    moved = examples["old_split"] != examples["new_split"]
    other = examples["is_changed"] | examples["is_regrouped"] | (relabelled & ~renamed)

    def count(condition: "pd.Series") -> int:
        return int(examples["size"][condition].sum())

    splits = {}
    for split in SPLITS:
        is_here = examples["new_split"] == split
        was_here = examples["old_split"] == split
        num_before, num_after = sizes[OLD].get(split, 0), sizes[NEW].get(split, 0)
        num_removed = num_before - count(was_here)
        splits[split] = {
            "before": num_before,
            "after": num_after,
            "added": num_after - count(is_here),
            "removed": num_removed,
            "changed": count(examples["is_changed"] & is_here),
            "regrouped": count(examples["is_regrouped"] & is_here),
            "relabelled": count(relabelled & is_here),
            "renamed": count(renamed & is_here),
            "moved_in": count(moved & is_here),
            "moved_out": count(moved & was_here),
            "altered": num_removed + count(was_here & moved | is_here & other),
        }
    others = examples["is_changed"] | examples["is_regrouped"] | relabelled | moved
    num_same = count(~others)
    names = examples.loc[renamed, ["old_label", "new_label"]].drop_duplicates()
    return {
        "same": all(num_same == sum(counted.values()) for counted in sizes.values()),
        "splits": splits,
        "renames": dict(sorted(names.itertuples(index=False, name=None))),
    }


def _is_renamed(before: "pd.Series", after: "pd.Series") -> "pd.Series":
    """Whether each example's class was renamed: one old label has one new one, and vice versa."""
    num_new = after.groupby(before).transform("nunique")
    num_old = before.groupby(after).transform("nunique")
    renamed: pd.Series = (num_new == 1) & (num_old == 1)
    return renamed
