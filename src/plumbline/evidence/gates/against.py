"""Gates that compare: with the champion, group by group, and whether this test split can tell at all."""

import numpy as np

from plumbline.evidence import compare
from plumbline.evidence.gates.facts import Facts, Finding
from plumbline.statistics import power
from plumbline.statistics.intervals import Interval


def champion(facts: Facts) -> Finding:
    """Pass if the winner may follow the champion. Failing it is no fault: the champion stays."""
    if facts.champion is None:
        return Finding("not-applicable", "there is no champion to compare with")
    if facts.level == 0:
        return Finding("fail", "no significance is left for this test split; see the gate power")
    if np.array_equal(facts.winner, facts.champion):
        return Finding("fail", "it scores on every test example what the champion scores", 0.0)
    rule = facts.limits.champion
    found = compare.duel(facts.winner, facts.champion, facts.metric, rule, facts.level)
    exact = "" if found.p_value is None else f", exact McNemar p = {found.p_value:.2g}"
    low, high = found.interval
    said = f"{found.difference:+.4f} over the champion, {low:+.4f} to {high:+.4f} at {1 - facts.level:.2%}{exact}"
    asked = (
        f"more than {found.asked:+g}"
        if rule.policy == "better"
        else f"no less than {found.asked:+g}"
    )
    said = f"{said}; asked for {asked}"
    return Finding(
        "pass" if found.won else "fail", said, found.difference, found.asked, found.interval
    )


def slices(facts: Facts) -> Finding:
    """Fail if any group surely loses more than the margin (after Holm 1979), or a column has no group to judge."""
    if not facts.limits.slices:
        return Finding("not-applicable", "evaluation.slices in params.yaml names no column")
    judged = {found.column for found in facts.slices}
    for column in facts.limits.slices:
        if column not in judged:
            return Finding(
                "fail",
                f"no group of {column} has {facts.limits.min_slice_rows} test rows to judge it by",
            )
    worst = min(facts.slices, key=lambda found: (found.p_adjusted, found.difference))
    limit, alpha = -facts.limits.max_slice_loss, 1 - facts.limits.confidence
    interval = Interval(worst.difference_low, worst.difference_high)
    told = (
        f"{worst.column} {worst.value} ({worst.num_rows} rows): {worst.difference:+.4f} against {worst.reference}, "
        f"{interval.low:+.4f} to {interval.high:+.4f}, p = {worst.p_adjusted:.2g} after Holm"
    )
    if worst.p_adjusted <= alpha:
        return Finding(
            "fail", f"{told}; at most {limit:+} is allowed", worst.difference, limit, interval
        )
    open_ = sum(found.difference_low < limit for found in facts.slices)
    left = max(
        facts.winner.size - sum(s.num_rows for s in facts.slices if s.column == column)
        for column in judged
    )
    said = f"none of {len(facts.slices)} groups surely loses more than {-limit}"
    said += f"; up to {left} rows stand in smaller groups, not judged" if left else ""
    said += f"; {open_} are too small to rule it out" if open_ else ""
    return Finding("pass", f"{said}. Closest: {told}", worst.difference, limit, interval)


def enough(facts: Facts) -> Finding:
    """Pass if the test split is not worn out and could show a difference that matters (at 80 % power).

    Without a champion the winner is held against itself with its errors on other rows: a challenger of equal quality.
    """
    looks, limit = facts.limits.planned_looks, facts.limits.max_detectable_difference
    if facts.plan != facts.first_plan:
        return Finding(
            "fail",
            f"the first use of this test split planned {facts.first_plan}, now it is {facts.plan}",
        )
    if facts.level == 0:
        return Finding(
            "fail",
            f"this test split was consulted {facts.look} times, {looks} were planned: draw a new one",
            facts.look,
            looks,
        )
    other = (
        np.random.default_rng(0).permutation(facts.winner)
        if facts.champion is None
        else facts.champion
    )
    least = power.minimum_detectable_difference(facts.winner, other, facts.metric.kind, facts.level)
    said = f"use {facts.look} of {looks} of this test split, at a level of {facts.level:.2g}: it can tell {least:.4f}"
    if least <= limit:
        return Finding("pass", said, least, limit)
    if facts.champion is not None:
        found = compare.duel(
            facts.winner, facts.champion, facts.metric, facts.limits.champion, facts.level
        ).interval
        if found.low > 0 or found.high < 0:
            return Finding("pass", f"{said}; the difference found is larger", least, limit)
    return Finding("fail", f"{said}; asked for {limit}. It needs more rows", least, limit)
