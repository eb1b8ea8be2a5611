"""Training by the calendar: days from the last one in the journal, asked for once."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.checkouts import Checkout

from plumbline.drift.training_due import judge_due
from plumbline.registry.journal import START, Entry

NOW = datetime(2026, 3, 9, 3, 11, tzinfo=UTC)


def write_entry(action: str, days_ago: float, number: int = 1) -> Entry:
    at = (NOW - timedelta(days=days_ago)).isoformat()
    seal = f"{number:064x}"
    return Entry(
        "m", action, "", "", "", "", "", number=number, at=at, actor="", prior="", seal=seal
    )  # type: ignore[arg-type]


@pytest.mark.parametrize("action", ["registered", "keep", "refuse", "retrain"])
def test_days_are_counted_from_the_last_training_or_request(action: str) -> None:
    history = [write_entry("registered", 30), write_entry(action, 7, number=2)]
    found = judge_due(history, 7, NOW)
    assert (found.is_due, found.last) == (True, history[-1].seal)
    assert "of 2026-03-02 (journal entry 2), drift.retrain.every_days is 7" in found.reason
    found = judge_due(history, 8, NOW)
    assert (found.is_due, found.reason.endswith(": due on 2026-03-10")) == (False, True)


@pytest.mark.parametrize("action", ["promote", "rollback", "override", "return", "drift"])
def test_what_trains_nothing_does_not_count(action: str) -> None:
    assert judge_due([write_entry("registered", 8), write_entry(action, 1, 2)], 7, NOW).is_due


def test_who_asks_every_night_is_seldom_on_the_minute() -> None:
    for late in (-0.04, 0, 0.04):
        assert judge_due([write_entry("retrain", 7 + late)], 7, NOW).is_due
        assert not judge_due([write_entry("retrain", 6 + late)], 7, NOW).is_due


def test_where_nothing_was_trained_training_is_due() -> None:
    found = judge_due([], 3650, NOW)
    assert (found.is_due, found.last) == (True, START)


def test_labels_of_closed_days_are_counted_from_the_last_training() -> None:
    """Two versions that answered the same rows share their labels."""
    history = [write_entry("outcomes", 9, 1), write_entry("registered", 5, 2)]
    for number, labelled in enumerate((300, 190), 3):
        counts = {"ab": {"labelled": labelled}, "cd": {"labelled": 40}}
        reason = f"closed {json.dumps({'bundles': counts})}"
        history.append(replace(write_entry("outcomes", 1, number), reason=reason))
    history[0] = replace(history[0], reason=history[2].reason)
    found = judge_due(history, None, NOW, 491)
    assert not found.is_due
    assert "490 labels of days closed since, drift.retrain.every_labels is 491" in found.reason
    assert judge_due(history, None, NOW, 490).is_due
    assert judge_due(history, 30, NOW, 490).is_due
    assert judge_due(history, 5, NOW, 491).is_due
    assert not judge_due(history, 30, NOW, 491).is_due


def test_a_request_is_made_once_and_counted_from(line: Checkout) -> None:
    assert "no decision on a model of this name" in line.run("plumbline", "journal", "lime").stdout
    line.replace("params.yaml", "per_day: 1", "per_day: 1, every_days: 7")
    assert "due: the journal has no training" in ask(line, 0, "--record")
    today = datetime.now(UTC).date()
    said = f"not due: the last training is of {today} (journal entry 1)"
    assert said in ask(line, 10, "--record")
    (entry,) = map(
        json.loads, line.run("plumbline", "journal", "line", "--json").stdout.split("\n")[:-1]
    )
    assert (entry["action"], entry["evidence"]) == ("retrain", START)


def ask(line: Checkout, code: int, *options: str) -> str:
    """What `plumbline drift --due` says, which ends with that exit code."""
    done = line.run("plumbline", "drift", "--due", *options, code=code)
    return str(done.stdout + done.stderr)
