"""A trial by reactions: each key has the answers of one version, and counts once."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plumbline.statistics import betting
from plumbline_outcomes.live_score import count_values
from plumbline_outcomes.trial import Plan

if TYPE_CHECKING:
    import pandas as pd

HUNDREDTHS = 2  # of a key's mean reaction: so the journal has few values
RATIO = 0.001  # chance that sound assignments seem to be of another share


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
    name = _name_keys(asked).rename("name")
    first = asked.groupby(name)["at"].transform("min")
    wait = pd.Timedelta(days=plan.unit_days)
    due = (first + wait).dt.strftime("%Y-%m-%d")
    is_counted = (first <= plan.end) & (asked["at"] <= first + wait) & (due > before) & (due <= day)
    counted = asked[is_counted].sort_values("at", kind="stable").groupby(name[is_counted])
    share = counted["share"].first().astype(float)
    tried = (counted["assigned"].first() == "canary").astype(float)
    reaction = counted["score"].mean().round(HUNDREDTHS)
    values = (reaction - plan.rate) * (tried / share - (1 - tried) / (1 - share))
    return {
        "trial": plan.number,
        "rows": int(is_counted.sum()),
        "keyless": int(asked.loc[is_counted, "key"].isna().sum()),
        "differs": len(reaction),
        "labelled": int(reaction.count()),
        "low": count_values(values),
        "ratio": count_values(tried - share),
        "known": count_values((tried - share)[reaction.notna()]),
    }


def count_shares(rows: "pd.DataFrame") -> dict[float, int]:
    """Count how far the side of each key is, at its first request, from the canary's share then."""
    assigned = rows.dropna(subset=["assigned", "share"])
    first = assigned[~_name_keys(assigned).duplicated()]
    return count_values((first["assigned"] == "canary").astype(float) - first["share"])


def has_other_share(counts: Mapping[float, int]) -> bool:
    """Whether a canary got another share of the keys than was set: one side's rows are missing."""
    return any(
        betting.compute_e_value(side, 0.0, span=(-1.0, 1.0)) >= 2 / RATIO
        for side in (counts, betting.negate(counts))
    )


def _name_keys(rows: "pd.DataFrame") -> "pd.Series":
    """Name the key of each row: without one a request is its own."""
    return rows["key"].astype(object).fillna(rows["id"].astype(object))
