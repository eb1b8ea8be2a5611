"""The suite: one declared check for each fault."""

from typing import TYPE_CHECKING, Any, Literal

from plumbline.contract.expectations import expect, select
from plumbline.contract.records import Check
from plumbline.contract.task import MANIFEST_COLUMNS, RIGHT_ANSWER, SPLITS
from tasks.answer_consensus.params import ConsensusParams

if TYPE_CHECKING:
    import pandas as pd

CATALOGUE = {  # name -> what it means, and what to do
    "schema": (
        "The manifest has the columns of this task",
        "run `dvc repro ingest` with this version",
    ),
    "splits": (
        "Train, validation and test all have questions",
        "record more questions, or change data.split",
    ),
    **{
        f"rows_{split}": (
            f"{split} has enough questions",
            "record more questions, or lower validation.min_rows",
        )
        for split in SPLITS
    },
    "unique": ("Every question is there once", "give each question its own question_id"),
    "seen": (
        "No question of a held-out split is in an earlier one",
        "run `dvc repro ingest`: it divides questions by their text",
    ),
    "poor_agents": (
        "Every agent is right more often than the commonest answer",
        "look at data.normalise and at how its answers were extracted, or leave the agent out",
    ),
}


def build_checks(params: ConsensusParams, table: "pd.DataFrame") -> list[Check]:
    """Return the suite for a table of `build_table`; every check but `poor_agents` blocks."""
    suite: dict[str, Any] = {
        "schema": expect(
            "expect_table_columns_to_match_set",
            column_set=[*MANIFEST_COLUMNS, RIGHT_ANSWER, "group"],
            exact_match=False,
        ),
        "splits": expect(
            "expect_column_distinct_values_to_equal_set", column="split", value_set=list(SPLITS)
        ),
        "unique": expect("expect_column_values_to_be_unique", column="id"),
        "seen": expect("expect_column_values_to_be_null", column="seen_in"),
        "poor_agents": expect("expect_column_values_to_be_null", column="poor_agents"),
    }
    for split in SPLITS:
        suite[f"rows_{split}"] = expect(
            "expect_table_row_count_to_be_between",
            min_value=params.validation.min_rows,
            rows=select("split", split),
        )
    checks = [
        Check(name, expectation, _get_severity(name), *CATALOGUE[name])
        for name, expectation in suite.items()
    ]
    return checks + _build_missing_checks(params)


def _build_missing_checks(params: ConsensusParams) -> list[Check]:
    """One check for each agent: how often it gave no answer."""
    limit = params.validation.max_missing_share
    checks = []
    for name in params.data.agents:
        few = expect("expect_column_mean_to_be_between", column=f"missing.{name}", max_value=limit)
        title = f"{name} answers nearly every question"
        remedy = f"look at how the answers of {name} were extracted, or take it out of data.agents"
        checks.append(Check(f"missing_{name}", few, "blocking", title, remedy))
    return checks


def _get_severity(name: str) -> Literal["blocking", "warning"]:
    return "warning" if name == "poor_agents" else "blocking"
