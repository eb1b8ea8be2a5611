"""The gate on groups: are two too far apart?"""

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from plumbline.contract.params import Groups
from plumbline.evidence.compare import MAX_GROUPS, name_groups
from plumbline.evidence.gates.question import GateQuestion, Ruling
from plumbline.evidence.uncertainty import read_hits
from plumbline.statistics.independent import compute_share_difference_interval
from plumbline.statistics.intervals import Interval, compute_proportion_interval
from plumbline.statistics.power import DISPROOF_LEVEL

if TYPE_CHECKING:
    import pandas as pd

NUM_NAMED = 5  # groups that are too small
LEAST = 0.001  # distance from a limit that is worth rows


class GroupRate(NamedTuple):
    """How often something happens in one group of test rows, and the interval of that alone."""

    column: str
    value: str
    num_hits: int
    num_rows: int
    low: float
    high: float
    is_judged: bool  # has rows enough


class Gap(NamedTuple):
    """By how much the rate of one group is above that of another; the interval is for all pairs."""

    column: str
    higher: str
    lower: str
    num_rows: int  # of both
    difference: float
    low: float
    high: float


def check_groups(question: GateQuestion) -> Ruling:
    """Fail if two groups of a column are shown to be further apart than `max_gap`."""
    asked = question.limits.groups
    if asked is None:
        return Ruling("not-applicable", "params.yaml has no evaluation.groups")
    rates, gaps = measure_gaps(question, asked)
    small = [f"{one.column} {one.value}" for one in rates if not one.is_judged]
    rest = f"; {len(small)} groups of fewer than {asked.min_rows} rows are not judged"
    rest = f"{rest}: {', '.join(small[:NUM_NAMED])}" if small else ""
    if not gaps:
        reason = f"cannot tell: no column has two groups of {asked.min_rows} test rows{rest}"
        return Ruling("not-applicable", reason)
    worst, limit = gaps[0], asked.max_gap
    found = (
        f"{asked.rate} of {worst.column}: {worst.higher} is {worst.difference:.4f} above "
        f"{worst.lower}, {worst.low:.4f} to {worst.high:.4f}"
    )
    interval = Interval(worst.low, worst.high)
    if worst.low > limit:
        reason = f"{found}; at most {limit:g} is allowed{rest}"
        return Ruling("fail", reason, worst.difference, limit, interval)
    reason = f"none of {len(gaps)} pairs is shown to be further apart than {limit:g}"
    num_open = sum(gap.high > limit for gap in gaps)
    if num_open:
        needed = _count_telling_rows(worst, limit)
        reason += f"; of {num_open} the rows cannot tell, of the widest {needed:,} would"
    return Ruling("pass", f"{reason}. The widest: {found}{rest}", worst.difference, limit, interval)


def describe_groups(question: GateQuestion) -> dict[str, Any]:
    """Describe the rate of each group, and the pair that is furthest apart."""
    asked = question.limits.groups
    if asked is None:
        return {}
    rates, gaps = measure_gaps(question, asked)
    worst = gaps[0]._asdict() if gaps else None
    found = {"rates": [one._asdict() for one in rates], "num_pairs": len(gaps), "worst": worst}
    return {"groups": found}


def measure_gaps(question: GateQuestion, asked: Groups) -> tuple[list[GroupRate], list[Gap]]:
    """Measure the rates of the largest groups of each column, and the gap of any two judged ones.

    The pairs share the level of a gate that disproves: Bonferroni over ordered pairs of all
    columns. The worst is first: that of the highest lower end beyond the limit, else of the highest
    upper end. ValueError where the answers have no such rate.
    """
    events = _mark_events(question, asked.rate).dropna()
    rows = question.table.get_rows("test").loc[events.index]
    rates, pairs = list[GroupRate](), list[tuple[GroupRate, GroupRate]]()
    for column in asked.columns:
        counts = events.groupby(name_groups(rows[column])).agg(["sum", "size"])
        own = []
        for value, hits, size in counts.nlargest(MAX_GROUPS, "size").itertuples(name=None):
            alone = compute_proportion_interval(int(hits), size, question.limits.confidence)
            is_judged = size >= asked.min_rows
            own.append(GroupRate(column, str(value), int(hits), size, *alone, is_judged))
        rates += own
        pairs += combinations([one for one in own if one.is_judged], 2)
    confidence = 1 - DISPROOF_LEVEL / max(1, len(pairs))  # a pair is two ordered ones, each one end
    gaps = [_measure_gap(*pair, confidence) for pair in pairs]
    return rates, sorted(gaps, key=lambda gap: (-max(gap.low, asked.max_gap), -gap.high))


def _mark_events(question: GateQuestion, rate: str) -> "pd.Series[float]":
    """Return 1 for each test row where it happened, 0 where not, NaN where it does not count."""
    import pandas as pd

    rows, scores = question.table.get_rows("test"), question.best.test
    kind, _, label = rate.partition("=")
    if kind == "error":
        hits = read_hits(scores, question.metric)
        if hits is None:
            raise ValueError("answers are neither right nor wrong: there is no rate of errors")
        return pd.Series(1 - hits, rows.index)
    if "predicted" not in scores.per_example or label not in set(question.table.rows["label"]):
        raise ValueError(f"evaluation.groups.rate: no answer or no row has a class {label}")
    answered = pd.Series(scores.per_example["predicted"] == label, rows.index, dtype=float)
    return answered if kind == "answer" else answered.where(rows["label"] == label)


def _measure_gap(one: GroupRate, other: GroupRate, confidence: float) -> Gap:
    low, high = sorted((one, other), key=lambda group: group.num_hits / group.num_rows)
    pair = (high.num_hits, high.num_rows), (low.num_hits, low.num_rows)
    difference = high.num_hits / high.num_rows - low.num_hits / low.num_rows
    interval = compute_share_difference_interval(*pair, confidence)
    num_rows = one.num_rows + other.num_rows
    return Gap(one.column, high.value, low.value, num_rows, difference, *interval)


def _count_telling_rows(gap: Gap, limit: float) -> int:
    """Count the rows of such rates that tell the side of `limit`: reach shrinks with their root."""
    distance = gap.difference - limit
    reach = gap.difference - gap.low if distance > 0 else gap.high - gap.difference
    return math.ceil(gap.num_rows * (reach / max(abs(distance), LEAST)) ** 2)
