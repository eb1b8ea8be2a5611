"""The checks of the data: those of every task, then the task's own."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from plumbline.contract.expectations import expect, select
from plumbline.contract.params import Params
from plumbline.contract.records import Check
from plumbline.contract.task import SPLITS, Task

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("id", "split", "label", "length")


def build_suite(params: Params, task: Task[Any], rows: "pd.DataFrame") -> list[Check]:
    """Return all checks; `rows` are those that `ExpectationsPart.build_checks` takes."""
    return [*_build_row_checks(params), *task.expectations.build_checks(params, rows)]


def _build_row_checks(params: Params) -> Iterator[Check]:
    yield Check(
        "schema",
        expect("expect_table_columns_to_match_set", column_set=COLUMNS, exact_match=False),
        "blocking",
        "The table has the columns of every task",
        "run `dvc repro ingest` with this version",
    )
    yield Check(
        "splits",
        expect("expect_column_distinct_values_to_equal_set", column="split", value_set=SPLITS),
        "blocking",
        "Train, validation and test all have rows",
        "give each split a source, or a share of one",
        follows_from=("rows",),  # of a task that asks for so many in train
    )
    for split, least in params.validation.list_min_rows().items():
        enough = expect(
            "expect_table_row_count_to_be_between", min_value=least, rows=select("split", split)
        )
        title = f"{split} has enough rows"
        remedy = "add rows, or lower validation.min_rows"
        yield Check(f"rows_{split}", enough, "blocking", title, remedy)
