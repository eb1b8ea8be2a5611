"""Gates that compare: with the champion, group by group, and whether the test split can tell."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from plumbline.evidence import compare
from plumbline.evidence.compare import Slice
from plumbline.evidence.gates.question import GateQuestion, Ruling, name_status
from plumbline.evidence.scores import CHAMPION
from plumbline.statistics import intervals, power
from plumbline.statistics.intervals import Interval

ROW_KINDS = ("gone", "relabelled", "new")


def check_champion(question: GateQuestion) -> Ruling:
    """Pass if the winner may follow the champion; a fail is not a fault: the champion stays."""
    champion = question.champion
    if question.known is None or champion is None:
        return Ruling("not-applicable", "there is no champion to compare with")
    if question.known.is_winner:
        return Ruling("fail", "the winner is the champion itself: its bundle is the same")
    policy, comparison = question.limits.champion.policy, question.champion_comparison
    if comparison is None:
        return Ruling("fail", "no significance is left for this test split; see the gate power")
    if policy == "not-worse" and question.known.lag is None:
        return Ruling(
            "fail",
            "the registry has no evidence of the champion by this metric, so what it lost already "
            "against former ones is not known; set evaluation.champion.policy to better",
        )
    if policy == "better" and np.array_equal(question.winner, champion):
        return Ruling("fail", "its score equals the champion's on every test example", 0.0)
    low, high = comparison.interval
    reason = (
        f"{comparison.difference:+.4f} over the champion, {low:+.4f} to {high:+.4f} "
        f"at {1 - question.level:.2%}"
    )
    if question.seeds is not None:
        reason += (
            f", in the mean over {question.seeds.num_seeds} seeds, which make "
            f"{comparison.seed_reach:.4f} of it to each side "
            f"(spread {question.seeds.deviation:.4f}); the training that ships alone: "
            f"{comparison.shipped.low:+.4f} to {comparison.shipped.high:+.4f}"
        )
    if comparison.p_value is not None:
        reason += f", exact McNemar p = {comparison.p_value:.2g}"
    if policy == "better":
        reason += f"; required: more than {comparison.required:+g}"
    else:
        reason += f"; required: no less than {comparison.required:+.4g}"
        if question.known.lag:
            reason += f", since the champion lost {question.known.lag:.4f} against former ones"
    gain, said = _ask_own_rows(question, champion)
    reason += said
    status = name_status(comparison.won and gain >= comparison.required)
    return Ruling(status, reason, comparison.difference, comparison.required, comparison.interval)


def describe_champion(question: GateQuestion) -> dict[str, Any]:
    """Describe the comparison: None without a champion or without significance left."""
    found = question.champion_comparison
    if found is None or question.champion is None:
        return {"comparison": None, "lag": question.lag}
    discordant: tuple[int | None, int | None] = (None, None)
    if question.metric.kind == "binary":
        discordant = intervals.count_discordant(question.winner, question.champion)
    described: dict[str, Any] = {
        "difference": found.difference,
        "low": found.interval.low,
        "high": found.interval.high,
        "p_value": found.p_value,
        "level": question.level,
        "confidence": 1 - question.level,
        "only_challenger": discordant[0],
        "only_champion": discordant[1],
    }
    if question.seeds is not None:
        described["seeds"] = asdict(question.seeds) | {"reach": found.seed_reach}
    return {"comparison": described, "lag": question.lag}


def _ask_own_rows(question: GateQuestion, champion: np.ndarray) -> tuple[float, str]:
    """Return the mean gain on the champion's own test rows, in words too; infinite if not asked.

    Who knows the answers can choose the test rows of today. So a row that is gone counts as lost,
    by the mean size of all gains and losses, and one with another label where the answers differ.
    Not asked where the rows are those of the champion, or another test split is meant.
    """
    changes = question.known and question.known.changes
    if not changes or question.limits.max_test_changes >= 1:
        return math.inf, ""
    gone, relabelled, new = (changes["data"]["test_rows"][key] for key in ROW_KINDS)
    if not (gone or relabelled or new):
        return math.inf, ""
    gains = np.subtract(*compare.orient_scores(question.winner, champion, question.metric))
    rows = question.best.test.per_example
    others = question.table.scores["champion", CHAMPION, "test"].per_example
    differ = gains != 0
    if "predicted" in rows and "predicted" in others:
        differ = rows["predicted"] != others["predicted"]
    lost = gone + int(differ[relabelled].sum())
    same = np.delete(gains, relabelled + new)
    num_rows = same.size + len(relabelled) + gone
    gain = float(same.sum() - lost * np.abs(gains[gains != 0]).mean()) / num_rows
    reason = f"; on the champion's own {num_rows:,} rows, "
    if gone:
        reason += f"{gone:,} of which are gone and count as lost, "
    if relabelled:
        reason += f"{len(relabelled):,} of which are relabelled, {lost - gone:,} of them lost, "
    return gain, f"{reason}{question.best.name} gains {gain:+.4f}"


def check_slices(question: GateQuestion) -> Ruling:
    """Fail if a group loses significantly more than the margin (after Holm 1979).

    Also fail where a column has no group that is large enough to judge.
    """
    limits = question.limits
    if not limits.slices:
        return Ruling("not-applicable", "evaluation.slices in params.yaml names no column")
    judged = {slice_.column for slice_ in question.slices}
    for column in limits.slices:
        if column not in judged:
            reason = f"no group of {column} has {limits.min_slice_rows} test rows to judge it by"
            return Ruling("fail", reason)
    worst = min(question.slices, key=lambda slice_: (slice_.p_adjusted, slice_.difference))
    limit = -limits.max_slice_loss
    interval = Interval(worst.difference_low, worst.difference_high)
    if worst.p_adjusted <= power.DISPROOF_LEVEL:
        reason = f"{_describe_loss(worst)}; at most {limit:+} is allowed"
        return Ruling("fail", reason, worst.difference, limit, interval)
    reason = f"{_describe_pass(question)}. The most doubtful: {_describe_loss(worst)}"
    return Ruling("pass", reason, worst.difference, limit, interval)


def describe_slices(question: GateQuestion) -> dict[str, Any]:
    """Describe each group beside the same group of the reference."""
    return {"slices": list(map(asdict, question.slices))}


def check_power(question: GateQuestion) -> Ruling:
    """Pass if the test split is not used up and could show a difference that matters (80 % power).

    Continuous scores must also have rows enough for their skewness.

    Without a champion the winner is compared with itself with its errors on other rows: a
    challenger of equal quality. What seeds make is said, and not judged: more rows do not lower it.
    """
    look = question.data.look
    planned = question.limits.planned_looks
    limit = question.limits.max_detectable_difference
    unfit = _check_test_split(question)
    if unfit is not None:
        return unfit
    other = question.champion
    if other is None:
        other = np.random.default_rng(0).permutation(question.winner)
    least = power.compute_detectable_difference(
        question.winner, other, question.metric.kind, question.level
    )
    comparison = question.champion_comparison
    same = f" and {look.num_splits - 1} that share its rows" if look.num_splits > 1 else ""
    reason = (
        f"use {look.number} of {planned} of this test split{same}, "
        f"at a level of {question.level:.2g}: "
        f"it can tell {least:.4f}"
    )
    if comparison and comparison.seed_reach:
        reason += f" by its rows alone; seeds make {comparison.seed_reach:.4f} besides"
    if least <= limit:
        return Ruling("pass", reason, least, limit)
    if comparison:
        low, high = comparison.interval
        if low > 0 or high < 0:
            return Ruling("pass", f"{reason}; the difference found is larger", least, limit)
    return Ruling("fail", f"{reason}; required: {limit}. It needs more rows", least, limit)


def describe_looks(question: GateQuestion) -> dict[str, Any]:
    """Describe the use of the test split, and the level that is left for it."""
    planned = question.limits.planned_looks
    look = {"number": question.data.look.number, "planned": planned, "level": question.level}
    return {"looks": look}


def _check_test_split(question: GateQuestion) -> Ruling | None:
    """Return why no level is left, or rows are too few for any interval; None where all is well."""
    look = question.data.look
    planned = question.limits.planned_looks
    if look.plan != look.first_plan:
        return Ruling(
            "fail",
            f"the first use of this test split planned {look.first_plan}, now it is {look.plan}",
        )
    if question.level == 0:
        reason = (
            f"this test split was consulted {look.number} times, {planned} were planned: "
            "draw a new one"
        )
        return Ruling("fail", reason, look.number, planned)
    needed = _count_needed_rows(question)
    if question.winner.size < needed:
        reason = (
            f"{question.winner.size} test rows are too few for an interval of skewed scores: "
            f"it needs {needed}. Collect more test rows"
        )
        return Ruling("fail", reason, question.winner.size, needed)
    return None


def _describe_loss(group: Slice) -> str:
    """Say what was measured of `group`: the difference, its interval and its p-value."""
    return (
        f"{group.column} {group.value}, {group.num_rows} rows, {group.difference:+.4f} against "
        f"{group.reference} ({group.difference_low:+.4f} to {group.difference_high:+.4f}, "
        f"p = {group.p_adjusted:.2g} after Holm)"
    )


def _describe_pass(question: GateQuestion) -> str:
    """Say that no group loses too much, and what was not judged or cannot be ruled out."""
    most = question.limits.max_slice_loss
    text = f"none of {len(question.slices)} groups is shown to lose more than {most}"
    num_open = sum(slice_.difference_low < -most for slice_ in question.slices)
    if num_open:
        text += f"; {num_open} of them have too few rows to show that they do not"
    return text


def _count_needed_rows(question: GateQuestion) -> int:
    """Count the rows that the intervals of the floor and, where it was won, of the gain need."""
    if question.metric.kind == "binary":
        return 0
    needed = power.count_needed_rows(question.winner)
    comparison = question.champion_comparison
    if comparison is not None and comparison.won and question.champion is not None:
        needed = max(needed, power.count_needed_rows(question.winner - question.champion))
    return needed
