"""The suite: one declared check for each fault."""

from typing import TYPE_CHECKING, Any

from plumbline.contract.expectations import expect, select
from plumbline.contract.records import Check
from plumbline.contract.task import MANIFEST_COLUMNS, SPLITS
from tasks.filter_design.params import FilterParams

if TYPE_CHECKING:
    import pandas as pd

INGEST = "run `dvc repro ingest` with this version"
OWN_COLUMNS = ("kind", "series", "slack_db")
CATALOGUE = {  # name -> what it means, and what to do
    "schema": ("The manifest has the columns of this task", INGEST),
    "splits": (
        "Train, validation and test all have rows",
        "give each split rows in data.generated.rows, or a share in data.split",
    ),
    **{
        f"rows_{split}": (
            f"{split} has enough rows",
            "generate more, add to the file, or lower validation.min_rows",
        )
        for split in SPLITS
    },
    "readable": (
        "The predictor accepts every specification",
        "correct the row; the column `fault` says why it is refused",
    ),
    "impossible": (
        "Few enough masks are beyond what any ladder can meet",
        "lower data.generated.impossible, ask for less in the file, or raise "
        "validation.max_impossible",
    ),
    "repeats": (
        "No specification of a held-out split is in an earlier one",
        "rows were copied between splits; run `dvc repro --force ingest`",
    ),
}


def build_checks(params: FilterParams, table: "pd.DataFrame") -> list[Check]:
    """Return the suite for a table of `build_table`; every check blocks."""
    limits = params.validation
    suite: dict[str, Any] = {
        "schema": expect(
            "expect_table_columns_to_match_set",
            column_set=[*MANIFEST_COLUMNS, *OWN_COLUMNS],
            exact_match=False,
        ),
        "splits": expect(
            "expect_column_distinct_values_to_equal_set", column="split", value_set=list(SPLITS)
        ),
        "readable": expect("expect_column_values_to_be_null", column="fault"),
        "impossible": expect(
            "expect_column_values_to_be_between",
            column="impossible",
            max_value=limits.max_impossible,
        ),
        "repeats": expect("expect_column_values_to_be_null", column="also_in"),
    }
    for split in SPLITS:
        suite[f"rows_{split}"] = expect(
            "expect_table_row_count_to_be_between",
            min_value=limits.min_rows,
            rows=select("split", split),
        )
    return [
        Check(name, expectation, "blocking", *CATALOGUE[name])
        for name, expectation in suite.items()
    ]
