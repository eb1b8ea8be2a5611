"""The schematic of a ladder as SVG, drawn by the predictor's own hand and the same in every run."""

import math
from typing import TYPE_CHECKING

from plumbline.contract.records import Figure
from tasks.filter_design.predictor.drawing import HEIGHT, Branch, draw_ladder

if TYPE_CHECKING:
    import pandas as pd


def draw_schematic(parts: "pd.DataFrame") -> Figure:
    """Return the ladder with a source and a load; `parts` is `tables.list_parts`."""
    rows = parts.to_dict("records")
    impedance = float(rows[0]["z0_ohm"])
    branches = []
    for row in rows:
        values = (row["inductor_nh"], row["capacitor_pf"])
        inductor, capacitor = (None if math.isnan(value) else value for value in values)
        branches.append(Branch(bool(row["in_series"]), inductor, capacitor))
    marks, width = draw_ladder(branches, impedance)
    title = "Schematic of the best design"
    svg = (
        f'<svg role="img" aria-label="{title}" viewBox="0 0 {width} {HEIGHT}" '
        f'xmlns="http://www.w3.org/2000/svg">{marks}</svg>'
    )
    caption = (
        f"The design with the most margin on the test split ({rows[0]['label']}, row "
        f"{rows[0]['row']}), in standard values, between a source and a load of {impedance:g} Ω."
    )
    return Figure("schematic", title, caption, svg)
