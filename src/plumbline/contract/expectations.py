"""An expectation of Great Expectations, by its name: the library itself takes seconds to load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plumbline.contract.records import Check
from plumbline.contract.task import MANIFEST_COLUMNS, SPLITS


@dataclass(frozen=True)
class Expectation:
    """What a table must be: `kind` as in the gallery of Great Expectations, and its options."""

    kind: str  # expect_column_values_to_be_null
    options: Mapping[str, Any]  # without those that are None
    rows: tuple[str, tuple[str | int, ...]] | None = None  # a column, and the values that count


def expect(
    kind: str, rows: tuple[str, tuple[str | int, ...]] | None = None, **options: Any
) -> Expectation:
    """Declare an expectation, of all rows or of those that `select` describes."""
    given = {name: value for name, value in options.items() if value is not None}
    return Expectation(kind, given, rows)


def select(column: str, *values: str | int) -> tuple[str, tuple[str | int, ...]]:
    """Describe the rows whose `column` has one of `values`."""
    return column, values


def build_table_checks(columns: Sequence[str], min_rows: int, remedy: str) -> list[Check]:
    """Return the checks that every task has: columns of the manifest, and rows in each split.

    `columns` are the task's own; `remedy` says how a split gets more rows.
    """
    schema = expect(
        "expect_table_columns_to_match_set",
        column_set=[*MANIFEST_COLUMNS, *columns],
        exact_match=False,
    )
    splits = expect(
        "expect_column_distinct_values_to_equal_set", column="split", value_set=list(SPLITS)
    )
    checks = [
        Check(
            "schema",
            schema,
            "blocking",
            "The manifest has the columns of this task",
            "run `dvc repro ingest` with this version",
        ),
        Check("splits", splits, "blocking", "Train, validation and test all have rows", remedy),
    ]
    for split in SPLITS:
        enough = expect(
            "expect_table_row_count_to_be_between", min_value=min_rows, rows=select("split", split)
        )
        title = f"{split} has enough rows"
        lower = f"{remedy}, or lower validation.min_rows"
        checks.append(Check(f"rows_{split}", enough, "blocking", title, lower))
    return checks
