"""The figures by which a person judges a search."""

import numpy as np

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import (
    Line,
    assign_styles,
    draw_lines,
    trace_candidates,
    trace_losses,
)
from tasks.retrieval.params import RetrievalParams

SHIFT = 0.12  # between candidates, so that no interval covers another


def draw_figures(params: RetrievalParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw how many passages have to be read, which queries are hard, and how training went."""
    caption = (
        "The share of right passages among the first ones, over all test queries. Every model "
        "searches the whole corpus."
    )
    lines = trace_candidates(candidates, "recall", "passages", "recall")
    panels = {"recall (test)": lines}
    title = "Recall against passages read"
    figures = [
        draw_lines("recall", title, caption, "passages", panels, xscale="log"),
        _draw_by_overlap(candidates),
    ]
    losses = trace_losses(candidates)
    if losses:
        caption = "The loss on pairs of validation by epoch; dotted, on those of train."
        figures.append(draw_lines("loss", "Training", caption, "epoch", {"loss": losses}))
    return figures


def _draw_by_overlap(candidates: list[Candidate]) -> Figure:
    lines = []
    for number, (candidate, (colour, marker)) in enumerate(assign_styles(candidates)):
        table = candidate.test.tables["overlap"]
        places = np.arange(len(table)) + SHIFT * number
        lines.append(Line(places, table["ndcg_at_10"], candidate.name, colour, marker, "none"))
        for place, low, high in zip(places, table["low"], table["high"], strict=True):
            lines.append(Line([place, place], [low, high], None, colour))
    caption = "By the share of a query's words that its passage has, with 95 % intervals."
    title, panels = "Quality by words in common", {"nDCG@10 (test)": lines}
    names = table["overlap"].tolist()
    return draw_lines(
        "overlap",
        title,
        caption,
        "words in common",
        panels,
        xticks=range(len(names)),
        xticklabels=names,
    )
