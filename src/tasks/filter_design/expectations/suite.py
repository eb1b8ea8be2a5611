"""The suite: one declared check for each fault."""

from typing import TYPE_CHECKING, Any

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check
from tasks.filter_design.params import FilterParams

if TYPE_CHECKING:
    import pandas as pd

CATALOGUE = {  # name -> what it means, and what to do
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
        "readable": expect("expect_column_values_to_be_null", column="fault"),
        "impossible": expect(
            "expect_column_values_to_be_between",
            column="impossible",
            max_value=limits.max_impossible,
        ),
        "repeats": expect("expect_column_values_to_be_null", column="also_in"),
    }
    return [
        Check(name, expectation, "blocking", *CATALOGUE[name])
        for name, expectation in suite.items()
    ]
