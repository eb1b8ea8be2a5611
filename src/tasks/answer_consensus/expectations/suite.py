"""The suite: one declared check for each fault."""

from typing import TYPE_CHECKING

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check
from tasks.answer_consensus.params import ConsensusParams

if TYPE_CHECKING:
    import pandas as pd


def build_checks(params: ConsensusParams, table: "pd.DataFrame") -> list[Check]:
    """Return the suite for a table of `build_table`; every check but `poor_agents` blocks."""
    checks = [
        Check(
            "unique",
            expect("expect_column_values_to_be_unique", column="id"),
            "blocking",
            "Every question is there once",
            "give each question its own question_id",
        ),
        Check(
            "seen",
            expect("expect_column_values_to_be_null", column="seen_in"),
            "blocking",
            "No question of a held-out split is in an earlier one",
            "run `dvc repro ingest`: it divides questions by their text",
        ),
        Check(
            "poor_agents",
            expect("expect_column_values_to_be_null", column="poor_agents"),
            "warning",
            "Every agent is right more often than the commonest answer",
            "look at data.normalise and at how its answers were extracted, or leave the agent out",
        ),
    ]
    limit = params.validation.max_missing_share
    for name in params.data.agents:
        few = expect("expect_column_mean_to_be_between", column=f"missing.{name}", max_value=limit)
        title = f"{name} answers nearly every question"
        remedy = f"look at how the answers of {name} were extracted, or take it out of data.agents"
        checks.append(Check(f"missing_{name}", few, "blocking", title, remedy))
    return checks
