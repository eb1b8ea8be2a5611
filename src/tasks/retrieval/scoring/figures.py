"""The figures by which a person judges a search."""

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import draw_lines, trace_candidates, trace_losses
from tasks.retrieval.params import RetrievalParams


def draw_figures(params: RetrievalParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw how many passages have to be read, and how training went."""
    caption = (
        "The share of right passages among the first ones, over all test queries. Every model "
        "searches the whole corpus."
    )
    lines = trace_candidates(candidates, "recall", "passages", "recall")
    panels = {"recall (test)": lines}
    title = "Recall against passages read"
    figures = [draw_lines("recall", title, caption, "passages", panels, xscale="log")]
    losses = trace_losses(candidates)
    if losses:
        caption = "The loss on pairs of validation by epoch; dotted, on those of train."
        figures.append(draw_lines("loss", "Training", caption, "epoch", {"loss": losses}))
    return figures
