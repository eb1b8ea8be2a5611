"""The questions a winner must answer before anything may be promoted: one small function a gate, listed in GATES."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plumbline.contract import SPLITS, Bound, Metric
from plumbline.evidence import intervals
from plumbline.evidence.intervals import Interval
from plumbline.params import Evaluation

if TYPE_CHECKING:
    import pandas as pd

Status = Literal["pass", "fail", "not-applicable"]


@dataclass(frozen=True)
class Facts:
    """All that the gates look at. Scores are the task's metric for each test example, in one order for all."""

    metric: Metric
    limits: Evaluation
    validation: Mapping[str, Any]  # reports/validation.json
    manifest_digest: str  # of the manifest that was scored
    manifest: "pd.DataFrame"  # columns: split, label
    winner: np.ndarray
    baselines: Mapping[str, np.ndarray]
    bound: Bound


@dataclass(frozen=True)
class Finding:
    """What one gate found."""

    status: Status
    reason: str
    measured: float | None = None
    threshold: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True)
class Gate:
    """A finding with its question, as evidence.json and the report show it."""

    name: str
    question: str
    status: Status
    measured: float | None
    threshold: float | None
    interval: Interval | None
    reason: str


def accepted(facts: Facts) -> Finding:
    """Pass if validation accepted the very manifest that was scored."""
    if facts.validation["manifest"] != facts.manifest_digest:
        return Finding("fail", "data/manifest.parquet is not the one that was validated; run `dvc repro`")
    if facts.validation["accepted"] is not True:
        return Finding("fail", "validation rejected this data; see reports/validation.html")
    return Finding("pass", "validation accepted exactly this manifest")


def coverage(facts: Facts) -> Finding:
    """Pass if every split holds every class, and the test split more than one."""
    held = {split: set(rows["label"]) for split, rows in facts.manifest.groupby("split")}
    classes = set().union(*held.values())
    missing = [f"{label} in {split}" for split in SPLITS for label in sorted(classes - held.get(split, set()))]
    if len(held.get("test", set())) < 2:
        return Finding("fail", "the test split holds fewer than two classes: any constant answer is perfect there")
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        return Finding("fail", f"no examples of {', '.join(missing[:3])}{more}", len(missing), 0)
    return Finding("pass", f"all {len(classes)} classes stand in every split", 0, 0)


def baselines(facts: Facts) -> Finding:
    """Pass if the gain over the best simple baseline is surely at least the margin."""
    if not facts.baselines:
        raise ValueError("the task names no baseline")
    sign, kind = _sign(facts), facts.metric.kind
    best = max(facts.baselines, key=lambda name: sign * float(facts.baselines[name].mean()))
    ours, theirs = facts.winner, facts.baselines[best]
    found = intervals.gain(*((ours, theirs) if sign > 0 else (theirs, ours)), kind, facts.limits.confidence)
    gain, margin = sign * float(ours.mean() - theirs.mean()), facts.limits.min_gain_over_baseline
    said = f"{gain:+.4f} over {best} ({theirs.mean():.4f}), at least {found.low:+.4f}; asked for {margin:+.4f}"
    return Finding("pass" if found.low >= margin else "fail", said, gain, margin, found)


def bounds(facts: Facts) -> Finding:
    """Fail if the score is surely better than the best that is possible: then something leaks."""
    limit = facts.bound.limit
    if limit is None:
        return Finding("not-applicable", facts.bound.reason)
    score, found = _score(facts)
    beyond = found.low > limit if facts.metric.higher_is_better else found.high < limit
    said = f"{score:.4f} {'is too good to be true' if beyond else 'is possible'}: {facts.bound.reason}"
    return Finding("fail" if beyond else "pass", said, score, limit, found)


def floor(facts: Facts) -> Finding:
    """Pass if the worse end of the score's interval still reaches the floor."""
    score, found = _score(facts)
    name, limit = facts.metric.name, facts.limits.floor
    if facts.metric.higher_is_better:
        enough, said = found.low >= limit, f"{name} is surely at least {found.low:.4f}; asked for {limit:.4f}"
    else:
        enough, said = found.high <= limit, f"{name} is surely at most {found.high:.4f}; asked for {limit:.4f}"
    return Finding("pass" if enough else "fail", said, score, limit, found)


GATES: tuple[tuple[str, str, Callable[[Facts], Finding]], ...] = (
    ("accepted", "Was exactly this data validated?", accepted),
    ("coverage", "Does every split hold every class?", coverage),
    ("baselines", "Is it better than doing almost nothing?", baselines),
    ("bounds", "Is it too good to be true?", bounds),
    ("floor", "Is it good enough?", floor),
)


def judge(facts: Facts) -> list[Gate]:
    """Ask every gate. One that cannot be computed fails, with the reason."""
    return [_asked(name, question, check, facts) for name, question, check in GATES]


def _asked(name: str, question: str, check: Callable[[Facts], Finding], facts: Facts) -> Gate:
    try:
        found = check(facts)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        found = Finding("fail", f"cannot be computed: {type(error).__name__}: {error}")
    if found.measured is not None and not math.isfinite(found.measured):
        found = Finding("fail", f"cannot be computed: measured {found.measured}")
    return Gate(name, question, found.status, found.measured, found.threshold, found.interval, found.reason)


def _sign(facts: Facts) -> int:
    return 1 if facts.metric.higher_is_better else -1


def _score(facts: Facts) -> tuple[float, Interval]:
    found = intervals.mean(facts.winner, facts.metric.kind, facts.limits.confidence)
    return float(facts.winner.mean()), found
