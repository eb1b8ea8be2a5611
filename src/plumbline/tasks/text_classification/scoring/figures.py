"""The figures by which a person judges a text classifier."""

from typing import TYPE_CHECKING

import numpy as np

from plumbline.contract.params import Selective
from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import BLACK, BLUE, SKY, assign_styles, draw_figure
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
    if any(_has_losses(candidate) for candidate in candidates):
        figures.append(_draw_learning_curves(candidates))
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
    def draw(axes: "Axes") -> None:
        for candidate, (colour, marker) in assign_styles(candidates):
            table = candidate.test.tables["risk_coverage"]
            axes.plot(
                table["coverage"],
                1 - table["accuracy"],
                color=colour,
                marker=marker,
                markersize=4,
                label=candidate.name,
            )
        if stated is not None:
            axes.axhline(stated.risk, color=BLACK, linewidth=1, linestyle="--", label="stated risk")
            _mark_answered(axes, candidates[0])
        axes.set_xlim(0, 1.02)
        axes.set_ylim(0, None)
        axes.set_xlabel("coverage: share of the texts answered")
        axes.set_ylabel("risk: wrong answers among those (test)")
        axes.legend(loc="best")

    caption = (
        "How many answers are wrong when the least certain ones are left to a person. An ensemble "
        "orders them by epistemic and aleatoric together, other models by their confidence."
    )
    return draw_figure("risk_coverage", "Risk and coverage", caption, SIZE, draw)


def _mark_answered(axes: "Axes", winner: Candidate) -> None:
    """Mark the rows that the winner answers by the threshold of its bundle."""
    rows = winner.test.per_example
    answered = rows["answered"] > 0
    if answered.any():
        risk = 1 - rows["accuracy"][answered].mean()
        axes.plot(
            [answered.mean()],
            [risk],
            color=BLACK,
            marker="*",
            markersize=11,
            linestyle="none",
            label=f"{winner.name} as sealed",
        )


def _has_losses(candidate: Candidate) -> bool:
    return candidate.history is not None and "validation/loss" in candidate.history


def _draw_learning_curves(candidates: list[Candidate]) -> Figure:
    from matplotlib.ticker import MaxNLocator

    def draw(axes: "Axes") -> None:
        for candidate, (colour, marker) in assign_styles(candidates):
            history = candidate.history
            if history is None or "validation/loss" not in history:
                continue
            rows = history.dropna(subset=["validation/loss"])
            axes.plot(
                rows["epoch"],
                rows["validation/loss"],
                color=colour,
                marker=marker,
                markersize=4,
                label=candidate.name,
            )
            if "train/loss" in history:
                rows = history.dropna(subset=["train/loss"])
                axes.plot(
                    rows["epoch"], rows["train/loss"], color=colour, linewidth=1, linestyle=":"
                )
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel="epoch", ylabel="loss", ylim=(0, None))
        axes.legend(loc="best")

    caption = (
        "Validation loss (solid, with marks) and training loss (dotted) of every candidate, "
        "epoch by epoch."
    )
    return draw_figure("learning", "Learning curves", caption, SIZE, draw)


def _round_to_decades(values: list[float]) -> tuple[float, float]:
    """Return powers of ten around positive values, so that a logarithmic axis has ticks to read."""
    low = 10 ** np.floor(np.log10(min(values)))
    high = 10 ** np.ceil(np.log10(max(values)) + 0.01)
    return low, high
