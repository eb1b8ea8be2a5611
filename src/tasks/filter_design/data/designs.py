"""The design that the textbook's search has for a specification; candidates learn from these."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tasks.filter_design.data.specifications import Specification, list_columns
from tasks.filter_design.predictor.ladder import compute_reference
from tasks.filter_design.predictor.rows import read_specs
from tasks.filter_design.predictor.strategies import search_textbook

if TYPE_CHECKING:
    import pandas as pd


def search_designs(specifications: Sequence[Specification], calls: int) -> "pd.DataFrame":
    """Search a design for each specification within so many calls of the simulator.

    The columns are those of storage.DESIGN_COLUMNS.
    """
    import pandas as pd

    rows = []
    for spec in read_specs(list_columns(specifications)):
        design = search_textbook(spec, calls)[0]
        reference = compute_reference(spec, design.order, design.topology)
        rows.append(
            {
                "order": design.order,
                "topology": design.topology,
                "ratios": np.log(design.parts / reference).round(9).tolist(),
                "meets": bool(design.margin_db >= 0),
            }
        )
    return pd.DataFrame(rows)
