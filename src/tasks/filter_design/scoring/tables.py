"""What figures show of some rows: responses, the parts of the best design, yields."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from plumbline.contract.task import Predictor
from tasks.filter_design.data import Specification, list_columns
from tasks.filter_design.predictor.rows import ORDERS
from tasks.filter_design.scoring.judgement import Verdict, find_fault, iterate_answers
from tasks.filter_design.scoring.oracle import (
    LadderDesign,
    compute_loss,
    compute_margin,
    compute_margins,
    read_ladder,
)
from tasks.filter_design.scoring.standard_parts import SPREAD

if TYPE_CHECKING:
    import pandas as pd

SHOWN_MASKS = 6
SHOWN_POINTS = 161  # of a response
SHOWN_RANGE = 12.0  # from the lowest edge, and to the highest
YIELD_ROWS = 40
YIELD_DRAWS, ORACLE_DRAWS = 500, 100


def choose_masks(specifications: Sequence[Specification]) -> list[int]:
    """Choose rows to show: of each kind in turn, the first row of another order."""
    labels = [specification.label for specification in specifications]
    turns = dict.fromkeys(ORDERS, 0)
    chosen = []
    for label in sorted(set(labels)):
        kind = specifications[labels.index(label)].kind
        chosen.append((turns[kind], labels.index(label)))
        turns[kind] += 1
    return [row for _, row in sorted(chosen)][:SHOWN_MASKS]


def draw_responses(
    specifications: Sequence[Specification], verdicts: Sequence[Verdict]
) -> "pd.DataFrame":
    """Return the response of the best design of each shown mask, and the mask beside it."""
    import pandas as pd

    tables = []
    for row in choose_masks(specifications):
        specification, ladder = specifications[row], verdicts[row].ladder
        frequencies = _spread_frequencies(specification)
        loss = np.full(SHOWN_POINTS, np.nan)
        if ladder is not None:
            loss = compute_loss(specification, ladder, frequencies)
        columns = {
            "row": row,
            "label": specification.label,
            "frequency_hz": frequencies,
            "s21_db": -loss,
            "pass_low_hz": specification.pass_hz[0],
            "pass_high_hz": specification.pass_hz[-1],
            "stop_low_hz": specification.stop_hz[0],
            "stop_high_hz": specification.stop_hz[-1],
            "max_loss_db": specification.max_loss_db,
            "min_attenuation_db": specification.min_attenuation_db,
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def estimate_yields(
    specifications: Sequence[Specification], predictor: Predictor
) -> "pd.DataFrame":
    """Compare the yield that the predictor claims with the oracle's own draws of the parts.

    Designs that do not meet their mask with exact parts are left out.
    """
    import pandas as pd

    shown = list(specifications[:YIELD_ROWS])
    answers = predictor.predict(list_columns(shown), designs=1, draws=YIELD_DRAWS)
    rows = []
    for specification, answer in zip(shown, iterate_answers(answers), strict=True):
        ladder = read_ladder(answer["designs"][0])
        if find_fault(specification, ladder):
            continue
        margin = compute_margin(specification, ladder)
        if margin < 0:
            continue
        rows.append(
            {
                "margin_db": margin,
                "claimed": float(answer["yield_share"]),
                "drawn": compute_yield(specification, ladder, ORACLE_DRAWS),
            }
        )
    return pd.DataFrame(rows, columns=["margin_db", "claimed", "drawn"])


def compute_yield(specification: Specification, ladder: LadderDesign, num_draws: int) -> float:
    """Return the share of draws of all parts within their tolerance that meet the mask."""
    random = np.random.default_rng(0)
    spread = SPREAD[specification.series]
    nominal = np.array(ladder.inductors + ladder.capacitors)
    parts = nominal * random.uniform(1 - spread, 1 + spread, (num_draws, len(nominal)))
    columns = tuple(parts.T[:, :, None])
    num_inductors = len(ladder.inductors)
    drawn = replace(ladder, inductors=columns[:num_inductors], capacitors=columns[num_inductors:])
    return float((compute_margins(specification, drawn) >= 0).mean())


def _spread_frequencies(specification: Specification) -> np.ndarray:
    """Return frequencies from well below the lowest edge to well above the highest."""
    edges = specification.pass_hz + specification.stop_hz
    return np.geomspace(min(edges) / SHOWN_RANGE, max(edges) * SHOWN_RANGE, SHOWN_POINTS)
