"""The suite: one declared check for each fault."""

from typing import TYPE_CHECKING, Any

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check
from tasks.sequence_bayes.data import SequencePrior
from tasks.sequence_bayes.params import SequenceParams

if TYPE_CHECKING:
    import pandas as pd

INGEST = "run `dvc repro ingest` with this version"
CATALOGUE = {  # name -> what it means, and what to do
    "length": ("Every sequence has data.length symbols", INGEST),
    "symbols": ("Every symbol is of the alphabet", INGEST),
    "surprise": (
        "Sequences are as probable as the prior says",
        "they do not come from the prior that params.yaml names: every regret would be wrong; "
        "run `dvc repro --force ingest`",
    ),
    "repeats": (
        "No sequence of a held-out split is in an earlier one, beyond chance",
        "rows were copied between splits; run `dvc repro --force ingest`",
    ),
}


def build_checks(params: SequenceParams, table: "pd.DataFrame") -> list[Check]:
    """Return the suite for a table of `build_table`; every check blocks."""
    prior = SequencePrior.from_params(params.data)
    limits = params.validation
    suite: dict[str, Any] = {
        "length": expect(
            "expect_column_values_to_be_in_set", column="length", value_set=[prior.length]
        ),
        "symbols": expect(
            "expect_column_values_to_be_between",
            column="highest",
            min_value=0.0,
            max_value=float(prior.num_symbols - 1),
        ),
        "surprise": expect(
            "expect_column_values_to_be_between", column="surprise", max_value=limits.max_surprise
        ),
        "repeats": expect("expect_column_values_to_be_null", column="also_in"),
    }
    return [
        Check(name, expectation, "blocking", *CATALOGUE[name])
        for name, expectation in suite.items()
    ]
