"""The suite: one declared check for each fault."""

from typing import TYPE_CHECKING, Any, Literal

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check
from tasks.answer_consensus.params import ConsensusParams

if TYPE_CHECKING:
    import pandas as pd

CATALOGUE = {  # name -> what it means, and what to do
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
        "unique": expect("expect_column_values_to_be_unique", column="id"),
        "seen": expect("expect_column_values_to_be_null", column="seen_in"),
        "poor_agents": expect("expect_column_values_to_be_null", column="poor_agents"),
    }
    checks = [
        Check(name, expectation, _get_severity(name), *CATALOGUE[name])
        for name, expectation in suite.items()
    ]
    return [*checks, *_build_missing_checks(params)]


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
