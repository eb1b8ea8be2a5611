"""The suite: one declared check for each fault."""

from typing import TYPE_CHECKING, Any

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check
from tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd

CATALOGUE = {  # name -> what it means, and what to do
    "length": ("Every window has data.window samples", "run `dvc repro ingest` with this version"),
    "finite": ("No sample is missing", "repair the source: a sample is NaN"),
    "range": (
        "Samples are in their range",
        "look at data.amplitude and data.noise, or raise validation.max_abs_signal",
    ),
    "peak": (
        "Each component's spectral peak is at the frequency that names it",
        "components and names are mixed up, or the sample rate is wrong",
    ),
    "realisations": (
        "No realisation of a held-out split is in an earlier one",
        "give each split seeds of its own: windows of one realisation share its noise",
    ),
    "windows": (
        "No window of a held-out split is in an earlier one",
        "the same data are there under two names",
    ),
}


def build_checks(params: SignalParams, table: "pd.DataFrame") -> list[Check]:
    """Return the suite for a table of `build_table`; every check blocks."""
    limits = params.validation
    suite: dict[str, Any] = {
        "length": expect(
            "expect_column_values_to_be_in_set", column="length", value_set=[params.data.window]
        ),
        "finite": expect("expect_column_values_to_not_be_null", column="furthest"),
        "range": expect(
            "expect_column_values_to_be_between", column="furthest", max_value=limits.max_abs_signal
        ),
        "peak": expect(
            "expect_column_values_to_be_between",
            column="peak_error_hz",
            max_value=limits.max_peak_error_hz,
        ),
        "realisations": expect("expect_column_values_to_be_null", column="also_in"),
        "windows": expect("expect_column_values_to_be_null", column="seen_in"),
    }
    return [
        Check(name, expectation, "blocking", *CATALOGUE[name])
        for name, expectation in suite.items()
    ]
