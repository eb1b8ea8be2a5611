"""Two versions told apart: by the labels of rows on which they differ, or by users' reactions.

Each closed day has its counts in the journal, and from these alone the e-values follow, in any
order and at every look. Groups and shares are looked at in the closed days.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from plumbline.contract.params import Params
from plumbline.statistics import betting
from plumbline_outcomes import live_score
from plumbline_outcomes.live_score import PLACES, count_values
from plumbline_outcomes.trial import Plan

if TYPE_CHECKING:
    import pandas as pd

WORSE = 0.01  # chance that a version without a loss is returned
HUNDREDTHS = 2  # of a key's mean reaction: so the journal has few values
MAX_KEYLESS = 0.05  # of the rows
LAST = "9999-12-31"
RATIO = 0.001  # chance that sound assignments seem to be of another share
COUNTED = ("rows", "differs", "labelled", "keyless")
SIDES = ("low", "high")  # each label that is missing against the challenger, and for it


def select_rows(rows: "pd.DataFrame", plan: Plan) -> "pd.DataFrame":
    """Select the answers to requests in the days of a plan."""
    return rows[(rows["at"] > plan.begin) & (rows["at"] <= plan.end)]


def build_pairs(rows: "pd.DataFrame", plan: Plan) -> "pd.DataFrame":
    """Pair the rows that both answered in the days of the plan, by id and row.

    `low` and `high`: right(challenger) - right(champion), with what nobody labelled against and for
    the challenger: 0 where their answers are equal; who gave no answer is wrong.
    """
    within = select_rows(rows, plan)
    ours, theirs = (
        within[within["bundle"] == bundle].set_index(["id", "row"])
        for bundle in (plan.bundle, plan.champion)
    )
    pairs = ours.join(theirs, how="inner", rsuffix="_champion")
    answered = pairs["answered"].astype(bool)
    their_answered = pairs["answered_champion"].astype(bool)
    known, their_known = (
        pairs[f"score{side}"].where(pairs[f"counts{side}"].astype(bool)).astype(float)
        for side in ("", "_champion")
    )
    has_same = (answered == their_answered) & (
        pairs["answer"].astype(str) == pairs["answer_champion"].astype(str)
    )
    pairs["differs"] = ~has_same
    is_known = (known.notna() | ~answered) & (their_known.notna() | ~their_answered)
    pairs["labelled"] = pairs["differs"] & is_known
    for side, (own, their) in zip(SIDES, ((0.0, 1.0), (1.0, 0.0)), strict=True):
        right = known.fillna(own).where(answered, 0.0)
        their_right = their_known.fillna(their).where(their_answered, 0.0)
        pairs[side] = (right - their_right).where(pairs["differs"], 0.0)
    return pairs


def count_pairs(rows: "pd.DataFrame", plan: Plan) -> dict[str, Any]:
    """Count the pairs of a day for the journal: how often which mean of a request's rows came."""
    pairs = build_pairs(rows, plan)
    facts: dict[str, Any] = {"trial": plan.number, "rows": len(pairs)}
    facts |= {name: int(pairs[name].sum()) for name in ("differs", "labelled")}
    for side in SIDES:
        facts[side] = count_values(pairs.groupby(level="id")[side].mean())
    return facts


def count_keys(rows: "pd.DataFrame", plan: Plan, before: str, day: str) -> dict[str, Any]:
    """Count, for the journal, the keys whose time ended after the day `before` and by `day`.

    A key counts once, by all reactions in `unit_days` from its first request, and belongs to the
    side of that request: also where the canary failed, or had a larger share later. `low` has how
    often which value came, whose mean is the gain; `ratio` and `known` how far the sides of all
    keys, and of those with a reaction, are from the share. `rows` are those of all closed days.
    """
    import pandas as pd

    is_meant = rows["shown"].astype(bool) & rows["assigned"].notna() & (rows["at"] > plan.begin)
    asked = rows[is_meant & (rows["share"] >= plan.share)]
    name = name_keys(asked).rename("name")
    first = asked.groupby(name)["at"].transform("min")
    wait = pd.Timedelta(days=plan.unit_days)
    due = (first + wait).dt.strftime("%Y-%m-%d")
    is_counted = (first <= plan.end) & (asked["at"] <= first + wait) & (due > before) & (due <= day)
    counted = asked[is_counted].sort_values("at", kind="stable").groupby(name[is_counted])
    share = counted["share"].first().astype(float)
    tried = (counted["assigned"].first() == "canary").astype(float)
    reaction = counted["score"].mean().round(HUNDREDTHS)
    values = (reaction - plan.rate) * (tried / share - (1 - tried) / (1 - share))
    ratio, has_one = tried - share, reaction.notna()
    return {
        "trial": plan.number,
        "rows": int(is_counted.sum()),
        "keyless": int(asked.loc[is_counted, "key"].isna().sum()),
        "differs": len(reaction),
        "labelled": int(has_one.sum()),
        "low": count_values(values[has_one]),
        "ratio": count_values(ratio),
        "known": count_values(ratio[has_one]),
    }


def name_keys(rows: "pd.DataFrame") -> "pd.Series":
    """Name the key of each row: without one a request is its own."""
    return rows["key"].astype(object).fillna(rows["id"].astype(object))


def weigh(plan: Plan, days: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Weigh what `count_pairs` or `count_keys` found of all days: e-values, the gain, its ends."""
    total: Counter[str] = Counter()
    counts: dict[str, Counter[float]] = {name: Counter() for name in (*SIDES, "ratio", "known")}
    for day in days:
        total.update({name: day.get(name, 0) for name in COUNTED})
        for side, values in counts.items():
            found = day.get(side, day["low"] if side == "high" else {})
            values.update({float(value): number for value, number in found.items()})
    low, high = counts["low"], counts["high"]
    sums = [value * number for side in (low, high) for value, number in side.items()]
    (limit, planned), (loss, feared) = plan.questions
    span = plan.span
    stakes = (
        betting.find_stake(planned, limit, span=span),
        betting.find_stake(feared, loss, span=span),
    )
    return {name: total[name] for name in COUNTED} | {
        "requests": low.total(),
        "gain": sum(sums) / 2 / max(1, low.total()),
        "low": betting.compute_interval(low, 2 * plan.level, span=span, stakes=stakes)[0],
        "high": betting.compute_interval(high, 2 * WORSE, span=span, stakes=stakes)[1],
        "better_e": betting.compute_e_value(low, limit, span=span, planned=planned),
        "worse_e": betting.compute_e_value(betting.negate(high), loss, span=span, planned=feared),
        "has_other_shares": has_other_share(counts["ratio"]) or has_other_share(counts["known"]),
    }


def judge(
    plan: Plan, found: Mapping[str, Any], rows: "pd.DataFrame", params: Params
) -> tuple[str, str]:
    """The verdict on what `weigh` found, of which `rows` are all answers, and what keeps it open.

    There is none where the shares of a canary are not those that were set, or too few rows that
    differ have a label; a gain is not enough where a group loses.
    """
    is_split = plan.kind == "split"
    if found["has_other_shares"] or (not is_split and has_other_share(count_shares(rows, plan))):
        return "cannot tell", "the canary got another share of the keys than was set"
    if found["keyless"] > MAX_KEYLESS * found["rows"]:
        return "cannot tell", f"over {MAX_KEYLESS:.0%} of the rows have no key (--key-header)"
    if not is_split and found["labelled"] < plan.coverage * found["differs"]:
        return "cannot tell", f"{plan.coverage:.0%} of the rows that differ need a label"
    if found["worse_e"] >= 1 / WORSE:
        return "worse", ""
    if found["better_e"] < 1 / plan.level:
        return "open", ""
    loser = "" if is_split else find_losing_group(rows, plan, params)
    if loser:
        return "open", f"{loser} loses more than evaluation.max_slice_loss"
    return ("better" if plan.policy == "better" else "not worse"), ""


def count_shares(rows: "pd.DataFrame", plan: Plan) -> Counter[float]:
    """Count how far the side of each key is, at its first request, from the canary's share then."""
    within = select_rows(rows, plan).dropna(subset=["assigned", "share"])
    first = within.loc[~name_keys(within).duplicated()]
    values = (first["assigned"] == "canary").astype(float) - first["share"].astype(float)
    return Counter(values.round(PLACES).tolist())


def has_other_share(counts: Counter[float]) -> bool:
    """Whether a canary got another share of the keys than was set: one side's rows are missing."""
    return any(
        betting.compute_e_value(side, 0.0, span=(-1.0, 1.0)) >= 2 / RATIO
        for side in (counts, betting.negate(counts))
    )


def find_losing_group(rows: "pd.DataFrame", plan: Plan, params: Params) -> str:
    """Name the group that loses most, significantly more than is allowed; "" for none.

    Groups come with labels, so rows that decide for the champion alone show a group's mean: rows
    with equal answers are among these as often as others are.
    """
    settled = {"sample": plan.sample, "min_coverage": plan.coverage}
    outcomes = params.outcomes.model_copy(update=settled)
    planned = params.model_copy(update={"outcomes": outcomes})
    marked = live_score.mark_deciding(rows[rows["bundle"] == plan.champion], planned)
    chosen = marked.index[marked["decides"] & marked["labelled"]]
    pairs = build_pairs(rows.loc[chosen.append(rows.index[rows["bundle"] == plan.bundle])], plan)
    groups = live_score.group_places(pairs["slices_champion"], plan.slice_rows)
    losers = {}
    for name, places in groups.items():
        values = pairs.iloc[places].groupby(level="id")["high"].mean().round(PLACES)
        counts = betting.negate(Counter(values.tolist()))
        e_value = betting.compute_e_value(counts, plan.slice_loss, span=plan.span)
        if e_value >= len(groups) / plan.level:
            losers[name] = float(values.mean())
    return min(losers, key=losers.__getitem__, default="")


def count(rows: "pd.DataFrame", plan: Plan, before: str = "", day: str = LAST) -> dict[str, Any]:
    """Count for the journal what is closed by `day` and was not by the day `before`."""
    if plan.kind == "split":
        return count_keys(rows, plan, before, day)
    days = rows["day"].astype(str)
    return count_pairs(rows[(days > before) & (days <= day)], plan)


def look(
    plan: Plan,
    rows: "pd.DataFrame",
    days: Iterable[Mapping[str, Any]],
    params: Params,
    now: datetime,
) -> dict[str, Any]:
    """Look at a trial, of which `days` are the counts and `rows` all answers."""
    found = weigh(plan, days)
    verdict, why = judge(plan, found, rows, params)
    age = timedelta(plan.unit_days * (plan.kind == "split") + params.outcomes.mature_days + 1)
    is_over = now.date() - age >= plan.end.date()
    counted = "{requests:,} requests, {labelled:,} of {differs:,} rows that differ have a label"
    if plan.kind == "split":
        counted = "{labelled:,} keys with a reaction, of {differs:,}"
    told = (
        f"trial {plan.number}, version {plan.version}: {verdict}; gain {found['gain']:+.3f} "
        f"({found['low']:+.3f} to {found['high']:+.3f}, valid at every look) in "
        f"{counted.format(**found)}"
    )
    return found | {
        "trial": plan.number,
        "verdict": verdict,
        "why": why,
        "told": told,
        "as_answered": measure_as_answered(rows, plan),
        "paired": None if plan.kind == "split" else measure_paired(rows, plan),
        "is_over": is_over,
    }


def measure_paired(rows: "pd.DataFrame", plan: Plan) -> tuple[float, int, float] | None:
    """Of which share of rows there is a pair, in which hour of UTC of the fewest, and of how many.

    None without a row. A full queue leaves none: who is slow then is judged by quiet hours.
    """
    within = select_rows(rows, plan)
    within = within[within["assigned"].astype(object) != "champion"]
    asked = within[within["bundle"].isin([plan.bundle, plan.champion])].groupby(["id", "row"])
    is_paired = asked["bundle"].nunique() == 2
    hours = is_paired.groupby(asked["at"].first().dt.hour).mean().sort_values()
    for hour, share in hours.head(1).items():
        return float(is_paired.mean()), int(str(hour)), float(share)
    return None


def measure_as_answered(rows: "pd.DataFrame", plan: Plan) -> float | None:
    """Right answers of the canary less those of the champion, by who answered in the end.

    It is what a log without pairs shows, and is wrong where the canary fails on hard rows. None
    where labels are of one side alone.
    """
    within = select_rows(rows, plan)
    means = within[within["shown"].astype(bool)].groupby("side")["score"].mean()
    if not {"canary", "champion"} <= set(means.dropna().index):
        return None
    return float(means["canary"] - means["champion"])
