"""Scores of a predictor on one split, specification by specification, judged by the oracle."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.records import Scores
from plumbline.contract.task import Predictor
from tasks.filter_design.data.specifications import Specification, list_columns
from tasks.filter_design.data.storage import name_rows, read_specifications
from tasks.filter_design.data.theorem import is_possible
from tasks.filter_design.scoring.judgement import Verdict, judge_specifications

if TYPE_CHECKING:
    import pandas as pd

BUDGETS = (1, 4, 16)  # calls of the simulator, tried beside those of the bundle
BUDGET_SHARE = 4  # on a quarter of the test split
NUM_OPEN = 8  # masks with an open order that are asked for designs of several goals


def score(examples: Path, split: str, predictor: Predictor) -> Scores:
    """Score every specification of `split`.

    `met` is 1 where the best of the returned designs keeps to the mask and is made of parts of the
    series, by the oracle's own simulation; `cost` is how often the predictor simulated a design.
    The tables of the report's figures are of the test split alone.
    """
    specifications = read_specifications(examples, split)
    verdicts = judge_specifications(specifications, predictor)
    per_example = {
        "id": np.array(name_rows(split, len(specifications)), dtype=object),
        "met": np.array([float(verdict.is_met) for verdict in verdicts]),
        "margin_db": np.array([verdict.margin_db for verdict in verdicts]),
        "cost": np.array([verdict.calls for verdict in verdicts]),
    }
    metrics = _summarise(specifications, verdicts, per_example)
    tables = {}
    if split == "test":
        num_tried = max(1, len(specifications) // BUDGET_SHARE)
        tried = _try_budgets(specifications[:num_tried], verdicts[:num_tried], predictor)
        tables = {"by_budget": tried, "goals": _list_goals(specifications, predictor)}
    return Scores(per_example, metrics, tables)


def _summarise(
    specifications: Sequence[Specification],
    verdicts: Sequence[Verdict],
    per_example: dict[str, np.ndarray],
) -> dict[str, float]:
    met = per_example["met"]
    possible = np.array(list(map(is_possible, specifications)))
    claims = np.array([verdict.claims_met for verdict in verdicts])
    metrics = {
        "met": float(met.mean()),
        "cost": float(per_example["cost"].mean()),
        "median_margin_db": float(np.median(per_example["margin_db"])),
        "claimed_and_not_met": float((claims & (met == 0)).sum()),
        "impossible_met": float(met[~possible].sum()),
    }
    if possible.any():
        metrics["met_of_possible"] = float(met[possible].mean())
    return metrics


def _try_budgets(
    specifications: Sequence[Specification], verdicts: Sequence[Verdict], predictor: Predictor
) -> "pd.DataFrame":
    """Ask some rows again with fewer calls than they were answered with.

    Shares are of the possible ones; the last row is the verdicts that are there.
    """
    import pandas as pd

    places = [place for place, one in enumerate(specifications) if is_possible(one)]
    possible = [specifications[place] for place in places]
    own = [verdicts[place] for place in places]
    num_calls = round(max((verdict.calls for verdict in own), default=0))
    rows = []
    for budget in BUDGETS:
        if budget < num_calls:
            again = judge_specifications(possible, predictor, budget=budget)
            rows.append(_count_met(budget, again))
    return pd.DataFrame([*rows, _count_met(num_calls, own)])


def _list_goals(specifications: Sequence[Specification], predictor: Predictor) -> "pd.DataFrame":
    """List the designs that none other beats, for the first masks whose order is open."""
    import pandas as pd

    masks = [one for one in specifications if one.order is None][:NUM_OPEN]
    answers: dict[str, list[Any]] = {"designs": []}
    with suppress(ValueError):  # a champion that was packaged before this rank
        answers = predictor.predict(list_columns(masks), rank="pareto", designs=10)
    rows = [
        (number, design["order"], design["yield_share"], design["margin_db"])
        for number, designs in enumerate(answers["designs"])
        for design in designs
        if design["margin_db"] >= 0
    ]
    return pd.DataFrame(rows, columns=["mask", "parts", "yield", "margin_db"])


def _count_met(calls: int, verdicts: Sequence[Verdict]) -> dict[str, float]:
    num_met = sum(verdict.is_met for verdict in verdicts)
    return {"calls": calls, "met": num_met / max(1, len(verdicts)), "rows": len(verdicts)}
