"""The pictures by which a person judges a text classifier."""

from typing import TYPE_CHECKING

import numpy as np

from plumbline.contract.task import Candidate, Figure
from plumbline.reporting.plots import BLACK, BLUE, SKY, figure, styled
from plumbline.statistics import intervals
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW_CLASSES = 20  # up to here the cells of the confusion matrix carry their numbers


def figures(params: TextParams, candidates: list[Candidate]) -> list[Figure]:
    """The figures of the winner (the first of `candidates`) and of all beside each other."""
    winner, confidence = candidates[0], params.evaluation.confidence
    drawn = [_cost(candidates, confidence), _reliability(winner), _risk_coverage(candidates)]
    if any(c.history is not None and "validation/loss" in c.history for c in candidates):
        drawn.append(_learning(candidates))
    return [*drawn, _confusion(winner), _per_class(winner, confidence)]


def _cost(candidates: list[Candidate], confidence: float) -> Figure:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    def draw(axes: "Axes") -> None:
        for candidate, (colour, marker) in styled(candidates):
            hits = candidate.test.per_example["accuracy"]
            low, high = intervals.mean(hits, "binary", confidence)
            x, y = candidate.latency_ms["one_p50"], hits.mean()
            axes.errorbar(
                [x],
                [y],
                yerr=[[y - low], [high - y]],
                fmt=marker,
                color=colour,
                capsize=3,
                label=candidate.name,
            )
            axes.plot(
                [x, candidate.latency_ms["one_p95"]], [y, y], color=colour, linewidth=1, alpha=0.6
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(
            *_decades(
                [t for c in candidates for t in (c.latency_ms["one_p50"], c.latency_ms["one_p95"])]
            )
        )
        axes.set_xlabel("milliseconds for one text (p50, line to p95)")
        axes.set_ylabel("accuracy (test)")
        axes.legend(loc="best")

    caption = f"Each candidate's test accuracy with its {confidence:.0%} interval against what one answer costs here."
    return figure("cost", "Accuracy against latency", caption, (5.2, 3.9), draw)


def _reliability(winner: Candidate) -> Figure:
    table = winner.test.tables["reliability"]

    def draw(axes: "Axes") -> None:
        axes.plot([0, 1], [0, 1], color=BLACK, linewidth=1, linestyle="--", label="perfect")
        axes.bar(
            table["confidence"], table["num_rows"] / table["num_rows"].sum(), width=0.04, color=SKY, alpha=0.6,
            label="share of the texts",
        )  # fmt: skip
        axes.plot(table["confidence"], table["accuracy"], color=BLUE, marker="o", label=winner.name)
        axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="confidence", ylabel="accuracy (test)")
        axes.legend(loc="upper left")

    ece = winner.test.metrics["ece"]
    before = winner.test.metrics.get("ece_before_temperature")
    told = (
        f"{ece:.3f} (before the temperature {before:.3f})" if before is not None else f"{ece:.3f}"
    )
    caption = f"How often {winner.name} is right when it says how sure it is. Expected calibration error {told}."
    return figure("reliability", "Reliability", caption, (5.2, 3.9), draw)


def _risk_coverage(candidates: list[Candidate]) -> Figure:
    def draw(axes: "Axes") -> None:
        for candidate, (colour, marker) in styled(candidates):
            table = candidate.test.tables["risk_coverage"]
            axes.plot(
                table["coverage"],
                table["accuracy"],
                color=colour,
                marker=marker,
                markersize=4,
                label=candidate.name,
            )
        axes.set(
            xlim=(0, 1.02), xlabel="share of the texts answered", ylabel="accuracy of those (test)"
        )
        axes.legend(loc="best")

    caption = "What accuracy becomes when the least confident answers are left to a person (set by the parameter threshold)."
    return figure("risk_coverage", "Abstention", caption, (5.2, 3.9), draw)


def _learning(candidates: list[Candidate]) -> Figure:
    from matplotlib.ticker import MaxNLocator

    def draw(axes: "Axes") -> None:
        for candidate, (colour, marker) in styled(candidates):
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
                told = history.dropna(subset=["train/loss"])
                axes.plot(
                    told["epoch"], told["train/loss"], color=colour, linewidth=1, linestyle=":"
                )
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel="epoch", ylabel="loss", ylim=(0, None))
        axes.legend(loc="best")

    caption = "Validation loss (solid, with marks) and training loss (dotted) of every candidate, epoch by epoch."
    return figure("learning", "Learning curves", caption, (5.2, 3.9), draw)


def _confusion(winner: Candidate) -> Figure:
    from sklearn.metrics import confusion_matrix

    pairs = winner.test.tables["confusion"]
    names = sorted(set(pairs["actual"]) | set(pairs["predicted"]))
    counts = confusion_matrix(
        pairs["actual"].astype(str), pairs["predicted"].astype(str), labels=names
    )
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    few = len(names) <= FEW_CLASSES

    def draw(axes: "Axes") -> None:
        axes.grid(visible=False)
        image = axes.imshow(
            shares, cmap="Blues", vmin=0, vmax=1, interpolation="none", aspect="equal"
        )
        small = 9 if few else 7
        axes.set_xticks(
            range(len(names)), [_cut(name) for name in names], rotation=90, fontsize=small
        )
        axes.set_yticks(range(len(names)), [_cut(name) for name in names], fontsize=small)
        axes.set(xlabel="predicted", ylabel="actual")
        cells = (
            np.argwhere(counts > 0)
            if few
            else np.argwhere((counts > 0) & ~np.eye(len(names), dtype=bool))
        )
        for row, column in cells:
            ink = "white" if shares[row, column] > 0.5 else BLACK
            axes.text(
                column,
                row,
                str(counts[row, column]),
                ha="center",
                va="center",
                color=ink,
                fontsize=small if few else 5,
            )
        if few:
            axes.figure.colorbar(image, ax=axes, shrink=0.7, label="share of the actual class")

    side = max(5.0, 2.2 + 0.45 * len(names)) if few else 3 + 0.145 * len(names)
    marked = "numbers count texts" if few else "numbers count texts off the diagonal"
    caption = f"Rows are the actual classes, columns what {winner.name} said; each row's colour sums to 1, {marked}."
    return figure("confusion", "Confusion matrix", caption, (side, side), draw)


def _per_class(winner: Candidate, confidence: float) -> Figure:
    """F1 = 2J/(1+J) grows with J = tp/(tp+fp+fn), a share: its interval is Wilson's interval of J, mapped."""
    table = winner.test.tables["per_class"].sort_values(["f1", "label"], ascending=[False, False])
    unions = table["true_positives"] + table["false_positives"] + table["false_negatives"]
    shares = [
        intervals.proportion(k, n, confidence)
        for k, n in zip(table["true_positives"], unions, strict=True)
    ]
    low, high = (np.array([2 * s[end] / (1 + s[end]) for s in shares]) for end in (0, 1))
    places = np.arange(len(table))[::-1]

    def draw(axes: "Axes") -> None:
        f1 = table["f1"].to_numpy()
        reach = np.clip([f1 - low, high - f1], 0, None)
        axes.errorbar(f1, places, xerr=reach, fmt="o", color=BLUE, markersize=4, elinewidth=1.2)
        names = [
            f"{_cut(label)} ({n})"
            for label, n in zip(table["label"], table["num_rows"], strict=True)
        ]
        axes.set_yticks(places, names, fontsize=9 if len(table) <= FEW_CLASSES else 7.5)
        axes.set(xlim=(0, 1.01), ylim=(-0.7, len(table) - 0.3), xlabel="F1 (test)")

    caption = f"F1 of every class with its {confidence:.0%} interval, best first; the number of test texts in brackets."
    height = 1.2 + (0.3 if len(table) <= FEW_CLASSES else 0.19) * len(table)
    return figure("per_class", "F1 of each class", caption, (6.2, height), draw)


def _decades(values: list[float]) -> tuple[float, float]:
    """Whole powers of ten around positive values, so that a logarithmic axis has ticks to read."""
    return 10 ** np.floor(np.log10(min(values))), 10 ** np.ceil(np.log10(max(values)) + 0.01)


def _cut(name: str) -> str:
    return name if len(name) <= 34 else f"{name[:32]}…"
