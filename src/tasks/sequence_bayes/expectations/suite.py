"""The suite: one declared check for each fault."""

from typing import TYPE_CHECKING

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check
from tasks.sequence_bayes.data import SequencePrior
from tasks.sequence_bayes.params import SequenceParams

if TYPE_CHECKING:
    import pandas as pd

INGEST = "run `dvc repro ingest` with this version"


def build_checks(params: SequenceParams, table: "pd.DataFrame") -> list[Check]:
    """Return the suite for a table of `build_table`; every check blocks."""
    prior = SequencePrior.from_params(params.data)
    between = "expect_column_values_to_be_between"
    return [
        Check(
            "length",
            expect("expect_column_values_to_be_in_set", column="length", value_set=[prior.length]),
            "blocking",
            "Every sequence has data.length symbols",
            INGEST,
        ),
        Check(
            "symbols",
            expect(between, column="highest", min_value=0.0, max_value=prior.num_symbols - 1.0),
            "blocking",
            "Every symbol is of the alphabet",
            INGEST,
        ),
        Check(
            "surprise",
            expect(between, column="surprise", max_value=params.validation.max_surprise),
            "blocking",
            "Sequences are as probable as the prior says",
            "they do not come from the prior that params.yaml names: every regret would be wrong; "
            "run `dvc repro --force ingest`",
        ),
        Check(
            "repeats",
            expect("expect_column_values_to_be_null", column="also_in"),
            "blocking",
            "No sequence of a held-out split is in an earlier one, beyond chance",
            "rows were copied between splits; run `dvc repro --force ingest`",
        ),
    ]
