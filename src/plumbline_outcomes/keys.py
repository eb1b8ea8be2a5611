"""Two versions that answer different keys, told apart by the reactions of each key's user."""

from typing import TYPE_CHECKING, Any

from plumbline_outcomes.live_score import PLACES
from plumbline_outcomes.trial import Plan

if TYPE_CHECKING:
    import pandas as pd

HUNDREDTHS = 2  # of a key's mean reaction: so the journal has few values
MAX_KEYLESS = 0.05  # of the rows


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
    name = asked["key"].astype(object).fillna(asked["id"].astype(object)).rename("name")
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
        "low": _count(values[has_one]),
        "ratio": _count(ratio),
        "known": _count(ratio[has_one]),
    }


def _count(values: "pd.Series") -> dict[str, int]:
    found: Any = values.round(PLACES).astype(str).value_counts().sort_index().to_dict()
    return dict(found)
