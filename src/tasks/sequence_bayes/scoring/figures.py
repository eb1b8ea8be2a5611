"""The figures by which a person judges a predictor of sequences."""

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import (
    BLUE,
    RED,
    Line,
    draw_lines,
    trace_candidates,
)
from tasks.sequence_bayes.params import SequenceParams

LEAST_KL = 1e-6  # the lowest that a logarithmic axis shows


def draw_figures(params: SequenceParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw the figures of the winner (the first of `candidates`) and of all candidates."""
    figures = [_draw_by_position(candidates)]
    if not candidates[0].test.tables["epistemic"].empty:
        figures.append(_draw_epistemic(candidates[0]))
    return figures


def _draw_by_position(candidates: list[Candidate]) -> Figure:
    caption = (
        "Kullback-Leibler divergence of each candidate from the exact Bayesian answer, by how many "
        "symbols it has seen. The exact answer itself would be at 0, below the axis."
    )
    lines = trace_candidates(candidates, "by_position", "symbols", "kl")
    panels = {"divergence in nats (test)": lines}
    title = "Divergence against history"
    x_label = "symbols seen"
    return draw_lines(
        "by_position", title, caption, x_label, panels, yscale="log", ylim=(LEAST_KL, None)
    )


def _draw_epistemic(winner: Candidate) -> Figure:
    table = winner.test.tables["epistemic"]
    top = 1.05 * float(table[["exact", "own"]].max().max())
    lines = [Line([0, top], [0, top], style="--")]
    for length, colour, marker in zip(table["symbols"].unique(), (BLUE, RED), "oD", strict=False):
        rows = table[table["symbols"] == length]
        label = f"after {length} symbols"
        lines.append(Line(rows["exact"], rows["own"], label, colour, marker, "none"))
    caption = (
        "The part of the doubt about the next symbol that more data would remove: what "
        f"{winner.name} estimates by continuing each history itself, against the exact value."
    )
    panels = {f"{winner.name}, in nats": lines}
    return draw_lines("epistemic", "Epistemic uncertainty", caption, "exact, in nats", panels)
