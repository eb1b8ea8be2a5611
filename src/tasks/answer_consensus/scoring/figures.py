"""The figures by which a person judges a policy."""

from typing import TYPE_CHECKING

import numpy as np

from plumbline.contract.records import Candidate, Figure
from plumbline.reporting.plots import BLACK, COLOURS, assign_styles, draw_figure
from tasks.answer_consensus.params import ConsensusParams
from tasks.answer_consensus.scoring.one_question import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY = "#777777"
NUM_BINS = 10


def draw_figures(params: ConsensusParams, candidates: list[Candidate]) -> list[Figure]:
    """Draw the figures of the winner (the first of `candidates`) and of all candidates."""
    winner = candidates[0]
    return [
        _draw_costs(candidates),
        _draw_rounds(winner),
        _draw_reliability(winner),
        _draw_agreement(winner),
        _draw_question(winner),
    ]


def _draw_costs(candidates: list[Candidate]) -> Figure:
    tables = candidates[0].test.tables
    limits, agents = tables["limits"], tables["agents"]

    def draw(axes: "Axes") -> None:
        best = limits[limits["limit"] == "best policy"].sort_values("cost")
        if len(best):
            axes.plot(
                best["cost"], best["accuracy"], color=BLACK, linestyle="--", label="best policy"
            )
        possible = limits["accuracy"].iloc[0]
        axes.axhline(possible, color=BLACK, linestyle=":", linewidth=1, label="any agent right")
        axes.scatter(agents["cost"], agents["accuracy"], color=GREY, marker="x", label="one agent")
        for name, cost, accuracy in agents[["agent", "cost", "accuracy"]].to_numpy(object):
            axes.annotate(
                str(name),
                (float(cost), float(accuracy)),
                xytext=(5, -3),
                textcoords="offset points",
                fontsize=7,
                color=GREY,
            )
        for candidate, (colour, marker) in assign_styles(candidates):
            trace = candidate.test.tables["by_confidence"].sort_values("cost")
            if trace["cost"].nunique() > 1:
                axes.plot(trace["cost"], trace["accuracy"], color=colour, linewidth=1, alpha=0.6)
            metrics = candidate.test.metrics
            axes.scatter(
                metrics["cost"],
                metrics["accuracy"],
                color=colour,
                marker=marker,
                zorder=3,
                label=candidate.name,
            )
        axes.set(xlabel="mean cost of a question, $", ylabel="accuracy (test)", xlim=(0, None))
        axes.legend(loc="lower right", fontsize=8)

    caption = (
        "Each candidate at the price that it was tuned to; a thin line is the same candidate asked "
        "to stop at other confidences. Crosses are single agents; nothing is above the dotted line."
    )
    return draw_figure("costs", "Accuracy against cost", caption, (6.6, 4.4), draw)


def _draw_rounds(winner: Candidate) -> Figure:
    table = winner.test.tables["rounds"]
    total = len(winner.test.per_example["id"])

    def draw(axes: "Axes") -> None:
        bottom = np.zeros(len(table))
        for number, name in enumerate(table.columns.drop("round")):
            shares = table[name].to_numpy() / total
            axes.bar(
                table["round"],
                shares,
                bottom=bottom,
                color=COLOURS[number % len(COLOURS)],
                alpha=1.0 if number < len(COLOURS) else 0.5,
                label=str(name),
            )
            bottom += shares
        axes.set_xticks(table["round"])
        axes.set(xlabel="round", ylabel="share of the questions (test)")
        axes.legend(loc="upper right", fontsize=8)

    caption = f"Whom {winner.name} asks in which round; what is missing to 1 was answered before."
    return draw_figure("rounds", "Who is asked when", caption, (6.2, 3.6), draw)


def _draw_reliability(winner: Candidate) -> Figure:
    confidence = winner.test.per_example["confidence"]
    hits = winner.test.per_example["accuracy"]
    bins = np.minimum((confidence * NUM_BINS).astype(int), NUM_BINS - 1)

    def draw(axes: "Axes") -> None:
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1)
        for number in np.unique(bins):
            chosen = bins == number
            axes.scatter(
                confidence[chosen].mean(),
                hits[chosen].mean(),
                s=20 + 400 * chosen.mean(),
                color=COLOURS[0],
                alpha=0.8,
            )
        axes.set(xlabel="confidence", ylabel="share that is right (test)")

    caption = (
        f"What {winner.name} says of its answers against what is right; a larger circle is more "
        "questions."
    )
    return draw_figure("reliability", "Confidence and accuracy", caption, (4.2, 3.8), draw)


def _draw_agreement(winner: Candidate) -> Figure:
    table = winner.test.tables["agreement"]
    shares = table.drop(columns="agent").to_numpy()

    def draw(axes: "Axes") -> None:
        axes.grid(visible=False)
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        places = np.arange(len(table))
        axes.set_xticks(places, table["agent"], rotation=45, ha="right", fontsize=8)
        axes.set_yticks(places, table["agent"], fontsize=8)
        for row, column in np.ndindex(shares.shape):
            dark = shares[row, column] > 0.6
            axes.text(
                column,
                row,
                f"{shares[row, column]:.2f}",
                ha="center",
                va="center",
                fontsize=7,
                color="white" if dark else BLACK,
            )

    size = max(3.6, 0.5 * len(table) + 1.6)
    caption = "How often two agents give the same answer: who repeats another adds little."
    return draw_figure("agreement", "Agreement of agents", caption, (size, size), draw)


def _draw_question(winner: Candidate) -> Figure:
    rounds = winner.validation.tables["one_question"]
    shares = winner.validation.tables["one_question_shares"]
    answers = list(dict.fromkeys(shares["answer"]))

    def draw(axes: "Axes") -> None:
        bottom = np.zeros(len(rounds))
        for number, answer in enumerate(answers):
            chosen = shares[shares["answer"] == answer]
            is_right = bool(chosen["is_right"].any())
            heights = np.zeros(len(rounds))
            heights[chosen["round"].to_numpy() - 1] = chosen["share"]
            axes.bar(
                rounds["round"],
                heights,
                bottom=bottom,
                color=COLOURS[number % len(COLOURS)],
                alpha=1.0 if is_right else 0.5,
                hatch=None if is_right else "//",
                label=f"{shorten(str(answer))}{' (right)' if is_right else ''}",
            )
            bottom += heights
        names = [
            f"{agent}:\n{answer or 'no answer'}"
            for agent, answer in zip(rounds["agent"], rounds["answer"], strict=True)
        ]
        axes.set_xticks(rounds["round"], names, fontsize=7, rotation=30, ha="right")
        axes.set(xlabel="asked in this order", ylabel="share of each answer", ylim=(0, 1))
        if answers:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=8)

    caption = (
        f"A question of validation on which {winner.name} asks most, for "
        f"{rounds['cost'].sum():.4g} $: what it thinks of each answer after each agent. What is "
        "missing to 1 is what it gives to all of them being wrong."
    )
    size = (max(4.6, 0.9 * len(rounds) + 2.4), 3.8)
    return draw_figure("one_question", "One question's course", caption, size, draw)
