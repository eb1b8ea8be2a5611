"""What an answer says."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .drawing import draw_picture
from .ladder import TOPOLOGIES, build_ladder, compute_limit_db, measure_margins, simulate_loss_db
from .netlist import write_netlist
from .rows import ORDERS, Spec, find_shown_range, round_digits
from .search import FilterDesign, split_parts
from .series import TOLERANCES
from .strategies import Strategy, search_ladders

NUM_SHOWN = 81  # points of the response in an answer
YIELD_SEED = 18


class DesignPlan(NamedTuple):
    """The params of one call of `predict`."""

    designs: int
    budget: int
    rank: str
    draws: int


def answer_spec(spec: Spec, strategy: "Strategy", plan: DesignPlan) -> dict[str, Any]:
    """Return the answer to one row, by the names of the signature."""
    number, every_order = max(3, plan.designs), plan.rank == "pareto"
    designs, calls = search_ladders(spec, strategy, plan.budget, number, every_order)
    ranked = rank_designs(spec, designs, plan)
    best = ranked[0]
    limit = compute_limit_db(spec, spec.order or ORDERS[spec.kind][-1])
    frequencies = list_shown_frequencies(spec)
    loss = simulate_loss_db(best.parts[None], spec, best.order, best.topology, frequencies)[0]
    meets = best.margin_db >= 0
    return {
        "meets_spec": bool(meets),
        "possible": bool(limit >= spec.min_attenuation_db),
        "attenuation_limit_db": round_digits(limit),
        "margin_db": best.margin_db,
        "yield_share": best.yield_share,
        "calls": calls,
        "message": write_message(spec, best, limit),
        "netlist": write_netlist(spec, best),
        "designs": [describe_design(spec, design) for design in ranked],
        "frequency_hz": frequencies.tolist(),
        "s21_db": [round_digits(-value) for value in loss],
        "picture": draw_picture(spec, frequencies, loss),
    }


def rank_designs(spec: Spec, designs: list[FilterDesign], plan: DesignPlan) -> list[FilterDesign]:
    """Return the best designs, with their yield, in the order that the plan asks for."""
    by_margin = sorted(designs, key=lambda design: (-design.margin_db, design.calls))
    kept = by_margin[: max(plan.designs, 3 if plan.rank == "yield" else 1)]
    if plan.rank == "pareto":
        kept = [design for design in by_margin if design.margin_db >= 0] or kept
    if plan.draws:
        kept = [measure_yield(spec, design, plan.draws) for design in kept]
    if plan.rank == "yield":
        kept.sort(key=lambda design: (design.margin_db < 0, -design.yield_share))
    if plan.rank == "pareto":
        kept = sorted(drop_beaten(kept), key=lambda design: (design.order, -design.yield_share))
    return kept[: plan.designs]


def drop_beaten(designs: list[FilterDesign]) -> list[FilterDesign]:
    """Return the designs that none other beats: as good in each goal, and better in one.

    The goals are a large margin, a large yield and few parts. Of equals, such as a ladder and its
    mirror image, the first is returned.
    """
    goals = np.array([(round(one.margin_db, 6), one.yield_share, -one.order) for one in designs])
    is_as_good = (goals[:, None] >= goals).all(axis=2)
    is_earlier = np.triu(np.ones_like(is_as_good), 1)
    beaten = (is_as_good & (is_earlier | ~is_as_good.T)).any(axis=0)
    return [designs[place] for place in np.flatnonzero(~beaten).tolist()]


def measure_yield(spec: Spec, design: FilterDesign, draws: int) -> FilterDesign:
    """Return the design with the share of draws of its parts that meet the mask.

    A part is uniform within the tolerance of its series; its Q stays.
    """
    ladder = build_ladder(spec, design.order)
    errors = np.random.default_rng(YIELD_SEED).uniform(-1, 1, (draws, 14))[:, : ladder.num_parts]
    logs = design.logs + np.log1p(TOLERANCES[spec.series] * errors)
    topologies = np.full(draws, TOPOLOGIES.index(design.topology))
    margins = measure_margins(ladder, logs, topologies)
    share = float((margins >= 0).mean())
    return replace(design, yield_share=share)


def describe_design(spec: Spec, design: FilterDesign) -> dict[str, Any]:
    """Return one design as the answer lists it."""
    inductors, capacitors = split_parts(spec, design)
    return {
        "topology": design.topology,
        "order": design.order,
        "inductors_nh": inductors,
        "capacitors_pf": capacitors,
        "margin_db": design.margin_db,
        "yield_share": design.yield_share,
        "calls": design.calls,
    }


def write_message(spec: Spec, best: FilterDesign, limit: float) -> str:
    """Return the answer in one sentence."""
    order = spec.order or ORDERS[spec.kind][-1]
    branches = "resonators" if spec.kind == "band-pass" else "parts"
    asked = f"{spec.min_attenuation_db:g} dB are asked for"
    edges = " and ".join(f"{edge:g}" for edge in spec.stop_hz)
    if limit < spec.min_attenuation_db:
        return (
            f"no ladder of {order} {branches} can meet this mask: at {edges} Hz none attenuates "
            f"by more than {limit:.2f} dB, and {asked}"
        )
    if best.margin_db >= 0:
        return f"{len(best.parts)} parts meet the mask with a margin of {best.margin_db:.2f} dB"
    return (
        f"no ladder was found that meets this mask, though {order} {branches} without losses might "
        f"reach {limit:.2f} dB: the nearest fails by {-best.margin_db:.2f} dB; allow more calls "
        "(budget), a higher order, a finer series or a higher Q"
    )


def list_shown_frequencies(spec: Spec) -> np.ndarray:
    """Return the frequencies of the response in an answer, in Hz [NUM_SHOWN]."""
    lower, upper = find_shown_range(spec)
    grid = lower * (upper / lower) ** np.linspace(0, 1, NUM_SHOWN)
    return np.array([round_digits(frequency) for frequency in grid.tolist()])
