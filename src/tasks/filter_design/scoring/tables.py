"""What figures show of some rows: the responses of the best designs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tasks.filter_design.data import Specification
from tasks.filter_design.predictor.rows import ORDERS
from tasks.filter_design.scoring.judgement import Verdict
from tasks.filter_design.scoring.oracle import compute_loss

if TYPE_CHECKING:
    import pandas as pd

SHOWN_MASKS = 6
SHOWN_POINTS = 161  # of a response
SHOWN_RANGE = 12.0  # from the lowest edge, and to the highest


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


def _spread_frequencies(specification: Specification) -> np.ndarray:
    """Return frequencies from well below the lowest edge to well above the highest."""
    edges = specification.pass_hz + specification.stop_hz
    return np.geomspace(min(edges) / SHOWN_RANGE, max(edges) * SHOWN_RANGE, SHOWN_POINTS)
