"""Whether training is due: so many days, or labels of requests, after the last one, drift or none.

The journal says when that was, so that the trainings of all machines count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from plumbline.contract.params import Params
from plumbline.registry import promotion
from plumbline.registry.journal import START, Entry
from plumbline.registry.journal_rules import read_facts

# What an entry says where somebody trained, or requested it.
TRAININGS = ("registered", "keep", "refuse", "retrain")
KEY = "drift.retrain.every_days"
LABELS_KEY = "drift.retrain.every_labels"


@dataclass(frozen=True)
class DueTraining:
    """Whether training is due, and why; `last` is the hash of the entry that is counted from."""

    is_due: bool
    reason: str
    last: str = START


def check_due(params: Params, *, record: bool) -> DueTraining:
    """Say whether the model of `params` is to be trained; with `record`, journal the request."""
    name, retrain = params.registry.model, params.drift.retrain
    if retrain.every_days is None and retrain.every_labels is None:
        return DueTraining(False, f"params.yaml has no {KEY}, and no {LABELS_KEY}")
    history = promotion.read_history(name)
    due = judge_due(history, retrain.every_days, datetime.now(UTC), retrain.every_labels)
    if due.is_due and record:
        promotion.record_finding(name, "retrain", "", "", due.last, due.reason)
    return due


def judge_due(
    history: Sequence[Entry], every_days: int | None, now: datetime, every_labels: int | None = None
) -> DueTraining:
    """Count days of UTC and labels from the last training in `history`, oldest first.

    Whole days, as what asks every night is seldom on the minute. Labels are those that closed days
    had when they were closed (`plumbline outcomes --record`).
    """
    trainings = [entry for entry in history if entry.action in TRAININGS]
    if not trainings:
        return DueTraining(True, "the journal has no training")
    last = trainings[-1]
    day = datetime.fromisoformat(last.at).astimezone(UTC).date()
    counted, is_due = f"the last training is of {day} (journal entry {last.number})", False
    if every_labels is not None:
        num_labels = sum(_count_labels(entry) for entry in history if entry.number > last.number)
        counted += f", {num_labels:,} labels of days closed since, {LABELS_KEY} is {every_labels:,}"
        is_due = num_labels >= every_labels
    if every_days is not None:
        counted += f", {KEY} is {every_days}"
        due_on = day + timedelta(days=every_days)
        is_due = is_due or now.date() >= due_on
        counted += "" if is_due else f": due on {due_on}"
    return DueTraining(is_due, counted, last.seal)


def _count_labels(entry: Entry) -> int:
    """Count the labels of a closed day: versions that answered the same rows share them."""
    bundles: dict[str, dict[str, int]] = read_facts(entry).get("bundles", {})
    return max([0, *(counts["labelled"] for counts in bundles.values())])
