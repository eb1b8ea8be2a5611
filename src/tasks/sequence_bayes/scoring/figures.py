"""The figures by which a person judges a predictor of sequences."""

from typing import TYPE_CHECKING

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import BLACK, BLUE, assign_styles, draw_figure
from tasks.sequence_bayes.params import SequenceParams

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_KL = 1e-6  # the lowest that a logarithmic axis shows


def draw_figures(params: SequenceParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw the figures of the winner (the first of `candidates`) and of all candidates."""
    figures = [_draw_by_position(candidates)]
    if not candidates[0].test.tables["orders"].empty:
        figures.append(_draw_orders(candidates))
    if not candidates[0].test.tables["epistemic"].empty:
        figures.append(_draw_epistemic(candidates[0]))
    if any(candidate.history is not None for candidate in candidates):
        figures.append(_draw_learning(candidates))
    return figures


def _draw_by_position(candidates: list[Candidate]) -> Figure:
    def draw(axes: "Axes") -> None:
        for candidate, (colour, marker) in assign_styles(candidates):
            table = candidate.test.tables["by_position"]
            axes.plot(
                table["symbols"],
                table["kl"].clip(lower=LEAST_KL),
                color=colour,
                marker=marker,
                markersize=4,
                markevery=max(1, len(table) // 8),
                label=candidate.name,
            )
        axes.set_yscale("log")
        axes.set(xlabel="symbols seen", ylabel="divergence in nats (test)")
        axes.legend(loc="best")

    caption = (
        "Kullback-Leibler divergence of each candidate from the exact Bayesian answer, by how many "
        "symbols it has seen. The exact answer itself would be at 0, below the axis."
    )
    return draw_figure(
        "by_position", "Divergence against history", caption, (5.4, 3.9), draw, math=True
    )


def _draw_orders(candidates: list[Candidate]) -> Figure:
    shown = [c for c in candidates if c.test.tables["orders"]["sd"].iloc[0] > LEAST_KL]

    def draw(axes: "Axes") -> None:
        for candidate, (colour, marker) in assign_styles(candidates):
            if candidate not in shown:
                continue
            table = candidate.test.tables["orders"].dropna()
            axes.plot(table["orders"], table["sd"], color=colour, marker=marker, markersize=4)
            axes.plot([], [], color=colour, marker=marker, label=candidate.name)
            expected = table["sd"].iloc[0] / table["orders"] ** 0.5
            axes.plot(table["orders"], expected, color=BLACK, linestyle="--", linewidth=1)
        axes.set_xscale("log", base=2)
        if shown:
            axes.set_yscale("log")
            axes.legend(loc="best")
        else:
            axes.text(0.5, 0.5, "no candidate depends on the order", transform=axes.transAxes)
        axes.set(xlabel="orders of the history", ylabel="deviation of a probability (test)")

    caption = (
        "How much the mean over k random orders of a history differs from order to order; dashed: "
        "the inverse square root of k that independent draws must follow. "
        "Candidates that do not depend on the order are left out."
    )
    return draw_figure("orders", "Orders of the history", caption, (5.4, 3.9), draw, math=True)


def _draw_epistemic(winner: Candidate) -> Figure:
    table = winner.test.tables["epistemic"]
    top = 1.05 * float(table[["exact", "own"]].max().max())

    def draw(axes: "Axes") -> None:
        lengths = sorted(table["symbols"].unique())
        for length, (colour, marker) in zip(lengths, ((BLUE, "o"), ("#D55E00", "D")), strict=False):
            rows = table[table["symbols"] == length]
            label = f"after {length} symbols"
            axes.plot(
                rows["exact"],
                rows["own"],
                marker,
                color=colour,
                markersize=4,
                alpha=0.7,
                label=label,
            )
        axes.plot([0, top], [0, top], color=BLACK, linestyle="--", linewidth=1)
        axes.set(xlabel="exact, in nats", ylabel=f"{winner.name}, in nats", xlim=(0, top))
        axes.legend(loc="best")

    caption = (
        "The part of the doubt about the next symbol that more data would remove: what "
        f"{winner.name} estimates by continuing each history itself, against the exact value."
    )
    return draw_figure("epistemic", "Epistemic uncertainty", caption, (5.4, 3.9), draw)


def _draw_learning(candidates: list[Candidate]) -> Figure:
    rule = candidates[0].validation.metrics
    exact_loss = rule["nll"] - rule["regret"]

    def draw(axes: "Axes") -> None:
        from matplotlib.ticker import MaxNLocator

        for candidate, (colour, marker) in assign_styles(candidates):
            if candidate.history is None:
                axes.axhline(
                    candidate.validation.metrics["nll"] - exact_loss,
                    color=colour,
                    linewidth=1,
                    label=f"{candidate.name} (closed form)",
                )
                continue
            rows = candidate.history
            axes.plot(
                rows["epoch"],
                rows["validation/loss"] - exact_loss,
                color=colour,
                marker=marker,
                markersize=4,
                label=candidate.name,
            )
        axes.set_yscale("log")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel="epoch", ylabel="regret in nats (validation)")
        axes.legend(loc="best")

    caption = (
        "Validation loss of each candidate above that of the exact answer to the same sequences, "
        "epoch by epoch."
    )
    return draw_figure("learning", "Learning curves", caption, (5.4, 3.9), draw, math=True)
