"""Evidence is judged once more wherever it is read, from the answers and facts on record."""

from typing import Any

import pandas as pd
import pytest
from tests.support.evidence import describe_gates, leave_line, write_evidence

from plumbline.contract import layout
from plumbline.contract.errors import EvidenceError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.evidence import document
from plumbline.evidence.verify import verify_evidence
from plumbline.process.files import digest_path, read_json, write_json


@pytest.fixture
def evaluated(line_task: tuple[Params, Task]) -> tuple[Params, Task]:
    """A folder as evaluate leaves it."""
    leave_line(*line_task)
    return line_task


def verify(evaluated: tuple[Params, Task], **changes: Any) -> None:
    """Verify what somebody changed in the evidence, and sealed again."""
    evidence = read_json(layout.EVIDENCE) | changes
    del evidence["seal"]
    write_json(layout.EVIDENCE, document.seal_evidence(evidence))
    verify_evidence(document.read_evidence(evaluated[0]), *evaluated)


def change_score(key: str) -> dict[str, Any]:
    """What evidence says of candidates, with another score of the winner."""
    described: dict[str, Any] = read_json(layout.EVIDENCE)[key]
    candidates = described["candidate"] if key == "metrics" else described
    candidates["closed"]["test"]["squared_error"] = 0.0001
    return described


@pytest.mark.parametrize("verdict", ["promote", "keep", "refuse"])
def test_what_follows_is_silent(evaluated: tuple[Params, Task], verdict: str) -> None:
    write_evidence(*evaluated, verdict)
    verify(evaluated)


def test_a_score_that_its_answers_do_not_give(evaluated: tuple[Params, Task]) -> None:
    with pytest.raises(EvidenceError, match=r"follows another candidates: the evidence was"):
        verify(evaluated, candidates=change_score("candidates"))
    with pytest.raises(EvidenceError, match=r"closed on test has squared_error 0\.000100, its"):
        verify(evaluated, metrics=change_score("metrics"))


def test_gates_that_were_flipped(evaluated: tuple[Params, Task]) -> None:
    write_evidence(*evaluated, "refuse")
    with pytest.raises(
        EvidenceError, match=r"asked again, from the same answers .* follows another"
    ):
        verify(evaluated, verdict="promote", gates=describe_gates("promote"))


@pytest.mark.parametrize(
    ("key", "value"),
    [("measured", 0.5), ("threshold", 0.5), ("reason", "it was not asked"), ("status", "fail")],
)
def test_a_gate_that_does_not_follow(
    evaluated: tuple[Params, Task], key: str, value: object
) -> None:
    gates = read_json(layout.EVIDENCE)["gates"]
    (floor,) = [gate for gate in gates if gate["name"] == "floor"]
    floor[key] = value
    with pytest.raises(
        EvidenceError, match=r"gate floor \((pass|fail) is recorded, pass follows\)"
    ):
        verify(evaluated, verdict="refuse" if key == "status" else "promote", gates=gates)


def test_facts_that_are_not_those_of_an_evaluation(evaluated: tuple[Params, Task]) -> None:
    with pytest.raises(
        EvidenceError, match=r"its gates cannot be asked again .*DataFacts\.digests: "
    ):
        verify(evaluated, data={"suite": 5})


def test_a_row_that_nobody_answered(evaluated: tuple[Params, Task]) -> None:
    table = pd.read_parquet(layout.PREDICTIONS)
    table[:-1].to_parquet(layout.PREDICTIONS, index=False)
    digests = read_json(layout.EVIDENCE)["digests"]
    with pytest.raises(EvidenceError, match=r"control\.closed did not answer every test row; run"):
        verify(evaluated, digests=digests | {"predictions": digest_path(layout.PREDICTIONS)})


def test_metrics_of_another_evaluation(evaluated: tuple[Params, Task]) -> None:
    write_json(layout.METRICS, read_json(layout.METRICS) | {"winner": "gradient"})
    with pytest.raises(EvidenceError, match=r"reports/metrics\.json is not what the evidence"):
        verify(evaluated)
