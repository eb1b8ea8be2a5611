"""Whether training is due by the calendar: so many days after the last one, drift or none.

The journal says when that was, so that the trainings of all machines count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from plumbline.contract.params import Params
from plumbline.registry import promotion
from plumbline.registry.journal import START, Entry

# What an entry says where somebody trained, or requested it.
TRAININGS = ("registered", "keep", "refuse", "retrain")
KEY = "drift.retrain.every_days"


@dataclass(frozen=True)
class DueTraining:
    """Whether training is due, and why; `last` is the hash of the entry that is counted from."""

    is_due: bool
    reason: str
    last: str = START


def check_due(params: Params, *, record: bool) -> DueTraining:
    """Say whether the model of `params` is to be trained; with `record`, journal the request."""
    name = params.registry.model
    every_days = params.drift.retrain.every_days
    if every_days is None:
        return DueTraining(False, f"params.yaml has no {KEY}")
    due = judge_due(promotion.read_history(name), every_days, datetime.now(UTC))
    if due.is_due and record:
        promotion.record_finding(name, "retrain", "", "", due.last, due.reason)
    return due


def judge_due(history: Sequence[Entry], every_days: int, now: datetime) -> DueTraining:
    """Count days of UTC from the last training in `history`, oldest first.

    Whole days, as what asks every night is seldom on the minute.
    """
    trainings = [entry for entry in history if entry.action in TRAININGS]
    if not trainings:
        return DueTraining(True, "the journal has no training")
    last = trainings[-1]
    day = datetime.fromisoformat(last.at).astimezone(UTC).date()
    due_on = day + timedelta(days=every_days)
    counted = f"the last training is of {day} (journal entry {last.number}), {KEY} is {every_days}"
    if now.date() < due_on:
        return DueTraining(False, f"{counted}: due on {due_on}", last.seal)
    return DueTraining(True, counted, last.seal)
