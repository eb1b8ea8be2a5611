"""The suite: one declared check for each fault."""

from typing import TYPE_CHECKING

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check
from tasks.filter_design.params import FilterParams

if TYPE_CHECKING:
    import pandas as pd


def build_checks(params: FilterParams, table: "pd.DataFrame") -> list[Check]:
    """Return the suite for a table of `build_table`; every check blocks."""
    limit = params.validation.max_impossible
    return [
        Check(
            "readable",
            expect("expect_column_values_to_be_null", column="fault"),
            "blocking",
            "The predictor accepts every specification",
            "correct the row; the column `fault` says why it is refused",
        ),
        Check(
            "impossible",
            expect("expect_column_values_to_be_between", column="impossible", max_value=limit),
            "blocking",
            "Few enough masks are beyond what any ladder can meet",
            "lower data.generated.impossible, ask for less in the file, or raise "
            "validation.max_impossible",
        ),
        Check(
            "repeats",
            expect("expect_column_values_to_be_null", column="also_in"),
            "blocking",
            "No specification of a held-out split is in an earlier one",
            "rows were copied between splits; run `dvc repro --force ingest`",
        ),
    ]
