"""MLflow gets the numbers that the report shows, and none that it withholds."""

from typing import Any

import pytest
from tests.support.evidence import describe_gates

from plumbline.evidence.tracked_metrics import list_candidate_metrics, list_metrics
from plumbline.evidence.withholding import SHOWN_GATES
from plumbline.reporting.model_card import render_card
from plumbline.tracking.runs import clean_name

TEST_SCORE, LOW, HIGH = 0.912345, 0.887654, 0.934567
GROUP = {"column": "channel", "value": "e-mail (new)", "num_rows": 40, "score": TEST_SCORE}


def build_evidence(verdict: str, champion: bool) -> dict[str, Any]:
    """Evidence of a model whose test figures are TEST_SCORE, LOW and HIGH."""
    scores = {
        "test": {"accuracy": TEST_SCORE},
        "test_interval": {"low": LOW, "high": HIGH},
        "validation": {"accuracy": 0.9},
    }
    gates = []
    for gate in describe_gates(verdict):
        figures = {"measured": None, "interval": None, "threshold": 0.8}
        if gate["name"] not in SHOWN_GATES:
            reason = f"{TEST_SCORE} is at least 0.8"
            figures |= {"measured": TEST_SCORE, "interval": [LOW, HIGH], "reason": reason}
        gates.append(gate | figures)
    gates[-1]["status"] = "not-applicable"
    return {
        "model": "router",
        "task": "text",
        "summary": f"linear: {verdict}",
        "verdict": verdict,
        "winner": "linear",
        "metric": {"name": "accuracy"},
        "candidates": {"linear": scores, "other": scores},
        "hardware": {"trainings": {}},
        "baselines": {},
        "cost": {"linear": {"one_p95": 2.5}, "other": {"one_p95": 1.5}},
        "rehearsal": {"rss_mb": 195.0},
        "slices": [GROUP | {"low": LOW, "high": HIGH}],
        "comparison": {"difference": TEST_SCORE, "low": LOW, "high": HIGH, "p_value": None},
        "champion": {"version": "1"} if champion else None,
        "gates": gates,
        "digests": {"bundle": "b" * 64, "manifest": "c" * 64, "examples": "d" * 64},
        "lineage": {"git_commit": "e" * 40},
        "params": {"card": {"owner": "support | team", "intended_use": None, "data_licence": None}},
        "forms": [],
        "loosened": {},
        "notes": {},
        "behaviour": [{"name": "negation", "num_passed": 1, "num_cases": 3}],
    }


def test_scores_intervals_groups_costs_and_gates_are_metrics() -> None:
    metrics = list_metrics(build_evidence("promote", champion=True))
    assert metrics["test/accuracy"] == TEST_SCORE
    assert (metrics["test/accuracy_low"], metrics["test/accuracy_high"]) == (LOW, HIGH)
    assert metrics["validation/accuracy"] == 0.9
    assert metrics["slice/channel/e-mail (new)/accuracy"] == TEST_SCORE
    assert (metrics["cost/one_p95"], metrics["cost/rss_mb"]) == (2.5, 195.0)
    assert metrics["champion/difference"] == TEST_SCORE
    assert "champion/p_value" not in metrics
    gates = {name: value for name, value in metrics.items() if name.startswith("gate/")}
    assert len(gates) == len(describe_gates("promote")) - 1  # one does not apply
    assert set(gates.values()) == {1.0}


@pytest.mark.parametrize("verdict", ["keep", "refuse"])
def test_of_a_model_that_is_not_promoted_no_test_figure_is_a_metric_or_in_the_card(
    verdict: str,
) -> None:
    evidence = build_evidence(verdict, champion=True)
    for metrics in (list_metrics(evidence), *list_candidate_metrics(evidence).values()):
        assert not {TEST_SCORE, LOW, HIGH} & set(metrics.values())
        assert not [name for name in metrics if name.startswith(("test/", "slice/", "champion/"))]
        assert metrics["validation/accuracy"] == 0.9
    failed = {"keep": "gate/champion", "refuse": "gate/floor"}[verdict]
    assert list_metrics(evidence)[failed] == 0.0
    card = render_card(evidence)
    assert "0.9123" not in card
    assert str(LOW)[:5] not in card
    assert "Test figures are not shown" in card


def test_without_a_champion_all_is_shown() -> None:
    assert list_metrics(build_evidence("refuse", champion=False))["test/accuracy"] == TEST_SCORE


def test_the_card_says_who_owns_the_model_and_what_is_not_stated() -> None:
    card = render_card(build_evidence("promote", champion=False))
    assert "| Owner | `support \\| team` |" in card  # the pipe does not end the cell
    assert "not stated (`card.intended_use` in params.yaml)" in card
    assert "| `linear` | test | accuracy | 0.9123 | 0.8877 to 0.9346 |" in card
    assert "- `behaviour negation: 1 of 3 cases as expected`" in card
    assert "models:/router/VERSION" in card


@pytest.mark.parametrize("value", ["/checkout", "https://x", "", ".", "..", "a//b", "v" * 300])
def test_any_value_of_a_group_is_a_name_that_mlflow_takes(value: str) -> None:
    from mlflow.utils.validation import _validate_metric_name

    evidence = build_evidence("promote", champion=True)
    evidence["slices"] = [GROUP | {"value": value, "low": LOW, "high": HIGH}]
    names = [name for name in list_metrics(evidence) if name.startswith("slice/")]
    assert len(names) == 4
    for name in names:
        _validate_metric_name(clean_name(name))
