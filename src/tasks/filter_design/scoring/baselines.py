"""What any candidate has to beat with as many calls of the simulator, and what is possible."""

from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.records import Bound
from plumbline.contract.task import Predictor
from tasks.filter_design.data.storage import read_specifications
from tasks.filter_design.data.theorem import is_possible_on_grid
from tasks.filter_design.params import FilterParams
from tasks.filter_design.predictor import TextbookPredictor

DEFAULT_CALLS = 64


def build_baselines(params: FilterParams, examples: Path) -> dict[str, Predictor]:
    """Return the predictors that any candidate has to beat.

    They have as many calls as `evaluation.budget.cost` leaves a candidate, or DEFAULT_CALLS.
    """
    calls = int(params.evaluation.budget.cost or DEFAULT_CALLS)
    baselines: dict[str, Any] = {
        "textbook search": TextbookPredictor(calls),
        "textbook, one call": TextbookPredictor(1),
    }
    return baselines


def compute_bound(params: FilterParams, examples: Path, split: str) -> Bound:
    """Return 1 for each specification that the theorem leaves room for, 0 for all others."""
    specifications = read_specifications(examples, split)
    limits = [float(is_possible_on_grid(specification)) for specification in specifications]
    return Bound(
        np.array(limits),
        "Chebyshev's theorem: no ladder of so many parts has more attenuation at the stop edge "
        "within this loss, whatever its values; a model that meets such a mask has broken the "
        "simulator or the mask",
        exact=True,
    )
