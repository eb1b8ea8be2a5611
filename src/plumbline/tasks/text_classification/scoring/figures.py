"""The figures by which a person judges a text classifier."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from plumbline.contract.params import Selective
from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import (
    BLACK,
    BLUE,
    SKY,
    Line,
    assign_styles,
    draw_figure,
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (5.2, 3.9)  # inches


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
        figures.append(_draw_learning_curves(losses))
    figures.append(draw_confusion(winner, has_sets=params.data.columns.has_label_sets))
    figures.append(draw_per_class(winner, confidence))
    return figures


def _draw_cost(candidates: list[Candidate], confidence: float) -> Figure:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    def draw(axes: "Axes") -> None:
        times: list[float] = []
        for candidate, (colour, marker) in assign_styles(candidates):
            hits = candidate.test.per_example["accuracy"]
            low, high = intervals.compute_mean_interval(hits, "binary", confidence)
            p50 = candidate.latency_ms["one_p50"]
            p95 = candidate.latency_ms["one_p95"]
            times += [p50, p95]
            y = hits.mean()
            axes.errorbar(
                [p50],
                [y],
                yerr=[[y - low], [high - y]],
                fmt=marker,
                color=colour,
                capsize=3,
                label=candidate.name,
            )
            axes.plot([p50, p95], [y, y], color=colour, linewidth=1, alpha=0.6)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(*_round_to_decades(times))
        axes.set_xlabel("milliseconds for one text (p50, line to p95)")
        axes.set_ylabel("accuracy (test)")
        axes.legend(loc="best")

    caption = (
        f"Each candidate's test accuracy with its {confidence:.0%} interval "
        "against what one answer costs here."
    )
    return draw_figure("cost", "Accuracy against latency", caption, SIZE, draw)


def _draw_reliability(winner: Candidate) -> Figure:
    table = winner.test.tables["reliability"]

    def draw(axes: "Axes") -> None:
        shares = table["num_rows"] / table["num_rows"].sum()
        axes.plot([0, 1], [0, 1], color=BLACK, linewidth=1, linestyle="--", label="perfect")
        axes.bar(
            table["confidence"],
            shares,
            width=0.04,
            color=SKY,
            alpha=0.6,
            label="share of the texts",
        )
        axes.plot(table["confidence"], table["accuracy"], color=BLUE, marker="o", label=winner.name)
        axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="confidence", ylabel="accuracy (test)")
        axes.legend(loc="upper left")

    error = f"{winner.test.metrics['ece']:.3f}"
    before = winner.test.metrics.get("ece_before_temperature")
    if before is not None:
        error += f" (before the temperature {before:.3f})"
    caption = (
        f"How often {winner.name} is right when it says how sure it is. "
        f"Expected calibration error {error}."
    )
    return draw_figure("reliability", "Reliability", caption, SIZE, draw)


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


def _draw_learning_curves(lines: list[Line]) -> Figure:
    caption = (
        "Validation loss (solid, with marks) and training loss (dotted) of every candidate, "
        "epoch by epoch."
    )
    return draw_lines(
        "learning", "Learning curves", caption, "epoch", {"loss": lines}, ylim=(0, None)
    )


def _round_to_decades(values: list[float]) -> tuple[float, float]:
    """Return powers of ten around positive values, so that a logarithmic axis has ticks to read."""
    low = 10 ** np.floor(np.log10(min(values)))
    high = 10 ** np.ceil(np.log10(max(values)) + 0.01)
    return low, high
