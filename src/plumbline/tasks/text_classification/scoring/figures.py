"""The figures by which a person judges a text classifier."""

from dataclasses import replace

from plumbline.contract.params import Selective
from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import (
    BLACK,
    BLUE,
    SKY,
    Line,
    assign_styles,
    draw_lines,
    trace_candidates,
    trace_losses,
)
from plumbline.statistics import intervals
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.scoring.class_figures import (
    draw_confusion,
    draw_per_class,
)

LOSSES = "Validation loss (solid, marked) and training loss (dotted) of each candidate, by epoch."


def draw_figures(params: TextParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw the figures of the winner (the first of `candidates`) and those of all candidates."""
    winner = candidates[0]
    confidence = params.evaluation.confidence
    figures = [
        _draw_cost(candidates, confidence),
        _draw_reliability(winner),
        _draw_risk_coverage(candidates, params.evaluation.selective),
    ]
    losses = trace_losses(candidates)
    if losses:
        panels = {"loss": losses}
        title = "Learning curves"
        figures.append(draw_lines("learning", title, LOSSES, "epoch", panels, ylim=(0, None)))
    figures.append(draw_confusion(winner, has_sets=params.data.columns.has_label_sets))
    figures.append(draw_per_class(winner, confidence))
    return figures


def _draw_cost(candidates: list[Candidate], confidence: float) -> Figure:
    lines = []
    for candidate, (colour, marker) in assign_styles(candidates):
        hits = candidate.test.per_example["accuracy"]
        low, high = intervals.compute_mean_interval(hits, "binary", confidence)
        p50, p95 = candidate.latency_ms["one_p50"], candidate.latency_ms["one_p95"]
        y = hits.mean()
        lines.append(Line([p50], [y], candidate.name, colour, marker, "none"))
        lines.append(Line([p50, p50], [low, high], None, colour))
        lines.append(Line([p50, p95], [y, y], None, colour))
    caption = (
        f"Each candidate's test accuracy with its {confidence:.0%} interval "
        "against what one answer costs here."
    )
    x_label = "milliseconds for one text (p50, line to p95)"
    panels = {"accuracy (test)": lines}
    return draw_lines("cost", "Accuracy against latency", caption, x_label, panels, xscale="log")


def _draw_reliability(winner: Candidate) -> Figure:
    table = winner.test.tables["reliability"]
    said, num_rows = table["confidence"], table["num_rows"]
    lines = [
        Line([0, 1], [0, 1], "perfect", style="--"),
        Line(said, num_rows / num_rows.sum(), "share of the texts", SKY, "|"),
        Line(said, table["accuracy"], winner.name, BLUE, "o"),
    ]
    caption = (
        f"How often {winner.name} is right when it says how sure it is. "
        f"Expected calibration error {winner.test.metrics['ece']:.3f}."
    )
    panels = {"accuracy (test)": lines}
    return draw_lines(
        "reliability", "Reliability", caption, "confidence", panels, xlim=(0, 1), ylim=(0, 1.02)
    )


def _draw_risk_coverage(candidates: list[Candidate], stated: Selective | None) -> Figure:
    lines = []
    for line in trace_candidates(candidates, "risk_coverage", "coverage", "accuracy"):
        lines.append(replace(line, y=1 - line.y))
    caption = (
        "How many answers are wrong when the least certain ones are left to a person. An ensemble "
        "orders them by epistemic and aleatoric together, other models by their confidence."
    )
    if stated is not None:
        lines += _mark_answered(candidates[0])
    return draw_lines(
        "risk_coverage",
        "Risk and coverage",
        caption,
        "coverage: share of the texts answered",
        {"risk: wrong answers among those (test)": lines},
        {"stated risk": stated.risk} if stated else None,
        xlim=(0, 1.02),
        ylim=(0, None),
    )


def _mark_answered(winner: Candidate) -> list[Line]:
    """Mark the rows that the winner answers by the threshold of its bundle."""
    rows = winner.test.per_example
    answered = rows["answered"] > 0
    if not answered.any():
        return []
    risk = 1 - rows["accuracy"][answered].mean()
    return [Line([answered.mean()], [risk], f"{winner.name} as sealed", BLACK, "*", "none")]
