"""A trial by labels: the rows that both versions answered, of which those count that differ."""

from typing import TYPE_CHECKING, Any

from plumbline.statistics import betting
from plumbline_outcomes import live_score
from plumbline_outcomes.live_score import count_values
from plumbline_outcomes.trial import Plan

if TYPE_CHECKING:
    import pandas as pd

# Right answers of challenger and champion where nobody labelled: against the former, and for it.
SIDES = {"low": (0.0, 1.0), "high": (1.0, 0.0)}


def build_pairs(rows: "pd.DataFrame", plan: Plan) -> "pd.DataFrame":
    """Pair the rows that both answered, by id and row.

    `low` and `high`: right(challenger) - right(champion), with what nobody labelled against and for
    the challenger: 0 where their answers are equal; who gave no answer is wrong.
    """
    ours, theirs = (
        rows[rows["bundle"] == bundle].set_index(["id", "row"])
        for bundle in (plan.bundle, plan.champion)
    )
    pairs = ours.join(theirs, how="inner", rsuffix="_champion")
    is_same = pairs["answer"].astype(str) == pairs["answer_champion"].astype(str)
    pairs["differs"] = ~(is_same & (pairs["answered"] == pairs["answered_champion"]))
    right, their_right = (
        pairs[f"score{side}"]
        .where(pairs[f"counts{side}"].astype(bool))
        .where(pairs[f"answered{side}"].astype(bool), 0.0)
        .astype(float)
        for side in ("", "_champion")
    )
    pairs["labelled"] = pairs["differs"] & right.notna() & their_right.notna()
    for name, (own, other) in SIDES.items():
        gain = right.fillna(own) - their_right.fillna(other)
        pairs[name] = gain.where(pairs["differs"], 0.0)
    return pairs


def count_pairs(rows: "pd.DataFrame", plan: Plan) -> dict[str, Any]:
    """Count the pairs of a day for the journal: how often which mean of a request's rows came."""
    pairs = build_pairs(rows, plan)
    requests = pairs.groupby(level="id")
    counts = {side: count_values(requests[side].mean()) for side in SIDES}
    sums = {name: int(pairs[name].sum()) for name in ("differs", "labelled")}
    return {"trial": plan.number, "rows": len(pairs)} | sums | counts


def find_losing_group(rows: "pd.DataFrame", plan: Plan) -> str:
    """Name the group that loses most, significantly more than is allowed; "" for none.

    Groups come with labels, so rows that decide for the champion alone show a group's mean: rows
    with equal answers are among these as often as others are.
    """
    own = rows[rows["bundle"] == plan.champion]
    marked = live_score.mark_deciding(own, plan.sample, plan.coverage)
    chosen = marked.index[marked["decides"] & marked["labelled"]]
    pairs = build_pairs(rows.loc[chosen.append(rows.index[rows["bundle"] == plan.bundle])], plan)
    groups = live_score.group_places(pairs["slices_champion"], plan.slice_rows)
    losers = {}
    for name, places in groups.items():
        values = pairs.iloc[places].groupby(level="id")["high"].mean()
        counts = betting.negate(count_values(values))
        e_value = betting.compute_e_value(counts, plan.slice_loss, span=plan.span)
        if e_value >= len(groups) / plan.level:
            losers[name] = float(values.mean())
    return min(losers, key=losers.__getitem__, default="")


def measure_as_answered(rows: "pd.DataFrame") -> float | None:
    """Right answers of the canary less those of the champion, by who answered in the end.

    It is what a log without pairs shows, and is wrong where the canary fails on hard rows. None
    where labels are of one side alone.
    """
    means = rows[rows["shown"].astype(bool)].groupby("side")["score"].mean().dropna()
    if not {"canary", "champion"} <= set(means.index):
        return None
    return float(means["canary"] - means["champion"])
