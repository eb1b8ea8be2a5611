"""A look at a trial: each day has its counts, and from these alone the e-values follow.

The order of the days does not matter, nor how often somebody looks. Groups and shares are looked at
in the rows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from plumbline.contract.params import Params
from plumbline.statistics import betting
from plumbline_outcomes import keys, pairs
from plumbline_outcomes.trial import Plan

if TYPE_CHECKING:
    import pandas as pd

WORSE = 0.01  # chance that a version without a loss is returned
MAX_KEYLESS = 0.05  # of the rows
LAST = "9999-12-31"
TOTALS = ("rows", "differs", "labelled", "keyless")
VALUES = ("low", "high", "ratio", "known")
COUNTED = {
    "paired": "{requests:,} requests, {labelled:,} of {differs:,} rows that differ have a label",
    "split": "{labelled:,} keys with a reaction, of {differs:,}",
}


def count(rows: "pd.DataFrame", plan: Plan, before: str = "", day: str = LAST) -> dict[str, Any]:
    """Count for the journal what is closed by `day` and was not by the day `before`."""
    if plan.is_split:
        return keys.count_keys(rows, plan, before, day)
    days = rows["day"].astype(str)
    return pairs.count_pairs(plan.select(rows[(days > before) & (days <= day)]), plan)


def look(
    plan: Plan,
    rows: "pd.DataFrame",
    days: Iterable[Mapping[str, Any]] | None,
    params: Params,
    now: datetime,
) -> dict[str, Any]:
    """Look at a trial, of which `rows` are all answers.

    `days`: what the journal counted; without it the rows are counted now.
    """
    if plan.ended:
        told = f"trial {plan.number}: {plan.ended}"
        return {"trial": plan.number, "verdict": plan.ended, "told": told}
    days = [count(rows, plan)] if days is None else days
    found, within = weigh(plan, days), plan.select(rows)
    verdict, why = judge(plan, found, within)
    age = timedelta(plan.unit_days * plan.is_split + params.outcomes.mature_days + 1)
    told = (
        f"trial {plan.number}, version {plan.version}: {verdict}; gain {found['gain']:+.3f} "
        f"({found['low']:+.3f} to {found['high']:+.3f}, valid at every look) in "
        f"{COUNTED[plan.kind].format(**found)}"
    )
    return found | {
        "trial": plan.number,
        "version": plan.version,
        "bundle": plan.bundle,
        "verdict": verdict,
        "why": why,
        "told": told,
        "as_answered": pairs.measure_as_answered(within),
        "is_over": now.date() - age >= plan.end.date(),
    }


def weigh(plan: Plan, days: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Weigh what `count` found of all days: e-values, the gain, and its ends."""
    total: Counter[str] = Counter()
    counts: dict[str, Counter[float]] = {name: Counter() for name in VALUES}
    for day in days:
        known = {"high": day["low"], **day}
        total.update({name: known.get(name, 0) for name in TOTALS})
        for name, values in counts.items():
            values.update({float(key): size for key, size in known.get(name, {}).items()})
    low, high = counts["low"], counts["high"]
    sums = [value * size for side in (low, high) for value, size in side.items()]
    (limit, planned), (loss, feared) = plan.questions
    span = plan.span
    stakes = (
        betting.find_stake(planned, limit, span=span),
        betting.find_stake(feared, loss, span=span),
    )
    return {name: total[name] for name in TOTALS} | {
        "requests": low.total(),
        "gain": sum(sums) / 2 / max(1, low.total()),
        "low": betting.compute_interval(low, 2 * plan.level, span=span, stakes=stakes)[0],
        "high": betting.compute_interval(high, 2 * WORSE, span=span, stakes=stakes)[1],
        "better_e": betting.compute_e_value(low, limit, span=span, planned=planned),
        "worse_e": betting.compute_e_value(betting.negate(high), loss, span=span, planned=feared),
        "has_other_shares": any(keys.has_other_share(counts[name]) for name in ("ratio", "known")),
    }


def judge(plan: Plan, found: Mapping[str, Any], rows: "pd.DataFrame") -> tuple[str, str]:
    """The verdict on what `weigh` found, of which `rows` are all answers, and what keeps it open.

    There is none where the shares of a canary are not those that were set, or too few rows that
    differ have a label; a gain is not enough where a group loses.
    """
    is_paired = not plan.is_split  # of whose keys the journal has no counts
    if found["has_other_shares"] or (is_paired and keys.has_other_share(keys.count_shares(rows))):
        return "cannot tell", "the canary got another share of the keys than was set"
    if found["keyless"] > MAX_KEYLESS * found["rows"]:
        return "cannot tell", f"over {MAX_KEYLESS:.0%} of the rows have no key (--key-header)"
    if is_paired and found["labelled"] < plan.coverage * found["differs"]:
        return "cannot tell", f"{plan.coverage:.0%} of the rows that differ need a label"
    if found["worse_e"] >= 1 / WORSE:
        return "worse", ""
    if found["better_e"] < 1 / plan.level:
        return "open", ""
    loser = pairs.find_losing_group(rows, plan) if is_paired else ""
    if loser:
        return "open", f"{loser} loses more than evaluation.max_slice_loss"
    return ("better" if plan.policy == "better" else "not worse"), ""
