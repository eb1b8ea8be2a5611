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
from plumbline.tasks.text_classification.data.label_sets import NO_LABEL
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW_CLASSES = 20  # up to here the cells of the confusion matrix show their numbers
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
    figures.append(_draw_confusion(winner, has_sets=params.data.columns.has_label_sets))
    figures.append(_draw_per_class(winner, confidence))
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


def _draw_confusion(winner: Candidate, *, has_sets: bool) -> Figure:
    """Draw how often each class was taken for each other, as shares of the actual class.

    Of sets of labels, how often each label was given, missing or too many.
    """
    from sklearn.metrics import confusion_matrix

    pairs = winner.test.tables["confusion"]
    names = sorted(set(pairs["actual"]) | set(pairs["predicted"]))
    counts = confusion_matrix(
        pairs["actual"].astype(str), pairs["predicted"].astype(str), labels=names
    )
    few = len(names) <= FEW_CLASSES
    if few:
        side = max(5.0, 2.2 + 0.45 * len(names))
        numbers = "numbers count texts"
    else:
        side = 3 + 0.145 * len(names)
        numbers = "numbers count texts off the diagonal"

    def draw(axes: "Axes") -> None:
        _draw_matrix(axes, names, counts, few)

    rows = "the actual classes"
    if has_sets:
        rows = f"the labels of texts ({NO_LABEL}: given, and not the text's)"
    caption = (
        f"Rows are {rows}, columns what {winner.name} said; each row's colour sums to 1, {numbers}."
    )
    return draw_figure("confusion", "Confusion matrix", caption, (side, side), draw)


def _draw_per_class(winner: Candidate, confidence: float) -> Figure:
    """Draw F1 with its interval for each class.

    F1 = 2J/(1+J) grows with J = tp/(tp+fp+fn), a share: its interval is Wilson's of J, mapped.
    """
    table = winner.test.tables["per_class"].sort_values(["f1", "label"], ascending=[False, False])
    f1 = table["f1"].to_numpy()
    unions = table["true_positives"] + table["false_positives"] + table["false_negatives"]
    intervals_of_j = []
    for num_hits, num_rows in zip(table["true_positives"], unions, strict=True):
        intervals_of_j.append(intervals.compute_proportion_interval(num_hits, num_rows, confidence))
    low = np.array([2 * j.low / (1 + j.low) for j in intervals_of_j])
    high = np.array([2 * j.high / (1 + j.high) for j in intervals_of_j])
    positions = np.arange(len(table))[::-1]
    few = len(table) <= FEW_CLASSES

    def draw(axes: "Axes") -> None:
        reach = np.clip([f1 - low, high - f1], 0, None)
        axes.errorbar(f1, positions, xerr=reach, fmt="o", color=BLUE, markersize=4, elinewidth=1.2)
        names = []
        for label, num_rows in zip(table["label"], table["num_rows"], strict=True):
            names.append(f"{_shorten_name(label)} ({num_rows})")
        axes.set_yticks(positions, names, fontsize=9 if few else 7.5)
        axes.set(xlim=(0, 1.01), ylim=(-0.7, len(table) - 0.3), xlabel="F1 (test)")

    caption = (
        f"F1 of every class with its {confidence:.0%} interval, best first; "
        "the number of test texts in brackets."
    )
    height = 1.2 + (0.3 if few else 0.19) * len(table)
    return draw_figure("per_class", "F1 of each class", caption, (6.2, height), draw)


def _draw_matrix(axes: "Axes", names: list[str], counts: np.ndarray, few: bool) -> None:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.grid(visible=False)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, interpolation="none", aspect="equal")
    name_size = 9 if few else 7
    number_size = 9 if few else 5
    ticks = list(map(_shorten_name, names))
    axes.set_xticks(range(len(names)), ticks, rotation=90, fontsize=name_size)
    axes.set_yticks(range(len(names)), ticks, fontsize=name_size)
    axes.set(xlabel="predicted", ylabel="actual")
    has_number = counts > 0
    if not few:
        has_number &= ~np.eye(len(names), dtype=bool)
    for row, column in np.argwhere(has_number):
        axes.text(
            column,
            row,
            str(counts[row, column]),
            ha="center",
            va="center",
            color="white" if shares[row, column] > 0.5 else BLACK,
            fontsize=number_size,
        )
    if few:
        axes.figure.colorbar(image, ax=axes, shrink=0.7, label="share of the actual class")


def _shorten_name(name: str) -> str:
    return name if len(name) <= 34 else f"{name[:32]}…"
