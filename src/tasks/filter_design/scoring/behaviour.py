"""Does the winner know the obvious about filters?"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plumbline.contract.records import Case
from plumbline.contract.task import Predictor
from tasks.filter_design.data.specifications import Specification, find_refusal, list_columns
from tasks.filter_design.data.storage import read_specifications
from tasks.filter_design.data.theorem import compute_limit
from tasks.filter_design.params import FilterParams
from tasks.filter_design.scoring.judgement import iterate_answers, judge_specifications

NUM_ROWS = 48
DECADE = 10.0
SAME = 1e-6  # of values that should have the same digits
EASIER_DB = 3.0
LOOSE_DB, LOOSE_SERIES = 10.0, "E96"
LOOSE_Q = 1e5  # a narrow band multiplies losses by its centre over its width


class Decade(NamedTuple):
    """The same problem at ten times a unit, and the factors of inductors and capacitors."""

    name: str
    change: Callable[[Specification], Specification]
    factors: tuple[float, float]


def check_behaviour(params: FilterParams, examples: Path, predictor: Predictor) -> list[Case]:
    """Run every behavioural test on specifications of the test split.

    What follows from one and is beyond the predictor's ranges is left out.
    """
    specifications = read_specifications(examples, "test")[:NUM_ROWS]
    decades = (
        Decade("frequencies x 10", _raise_frequencies, (0.1, 0.1)),
        Decade("impedances x 10", _raise_impedance, (10.0, 0.1)),
    )
    return [
        *(_check_decade(decade, specifications, predictor) for decade in decades),
        _check_easier(specifications, predictor),
        _check_loose(specifications, predictor),
    ]


def _check_decade(
    decade: Decade, specifications: Sequence[Specification], predictor: Predictor
) -> Case:
    """Series repeat by decades: inductors and capacitors change by their factor, digits stay."""
    changed = [(one, decade.change(one)) for one in specifications]
    pairs = [(one, other) for one, other in changed if _is_accepted(other)]
    before = _ask(predictor, [one for one, _ in pairs])
    after = _ask(predictor, [other for _, other in pairs])
    failures = []
    for row, (one, other) in enumerate(zip(before, after, strict=True)):
        if not _is_scaled(one["designs"][0], other["designs"][0], decade.factors):
            failures.append(f"row {row}: {_show(one)}, then {_show(other)}")
    return Case.build(decade.name, "invariance", failures, len(before))


def _check_easier(specifications: Sequence[Specification], predictor: Predictor) -> Case:
    """A filter that meets its mask is still there when 3 dB less attenuation are asked for."""
    specifications = [
        one for one in specifications if one.min_attenuation_db - EASIER_DB > one.max_loss_db
    ]
    easier = [
        replace(one, min_attenuation_db=one.min_attenuation_db - EASIER_DB)
        for one in specifications
    ]
    before = judge_specifications(specifications, predictor) if easier else []
    after = judge_specifications(easier, predictor) if easier else []
    failures = [
        f"row {row}: {one.margin_db:.3f} dB of margin, then {other.margin_db:.3f}"
        for row, (one, other) in enumerate(zip(before, after, strict=True))
        if one.is_met and not other.is_met
    ]
    return Case.build(f"{EASIER_DB:g} dB less", "direction", failures, len(before), True)


def _check_loose(specifications: Sequence[Specification], predictor: Predictor) -> Case:
    """With much slack, hardly any losses and fine values, the mask is met."""
    loose = []
    for one in specifications:
        asked = compute_limit(one, one.max_order) - LOOSE_DB
        if asked > one.max_loss_db:
            changes: dict[str, Any] = {"series": LOOSE_SERIES, "min_attenuation_db": asked}
            for name in ("q_inductor", "q_capacitor"):
                changes[name] = max(LOOSE_Q, getattr(one, name))
            loose.append(replace(one, **changes))
    loose = list(filter(_is_accepted, loose))
    verdicts = judge_specifications(loose, predictor) if loose else []
    failures = [
        f"{one.label}: {verdict.margin_db:.3f} dB of margin"
        for one, verdict in zip(loose, verdicts, strict=True)
        if not verdict.is_met
    ]
    return Case.build(f"{LOOSE_DB:g} dB of slack", "minimum", failures, len(loose), True)


def _raise_frequencies(one: Specification) -> Specification:
    passed = tuple(DECADE * edge for edge in one.pass_hz)
    stopped = tuple(DECADE * edge for edge in one.stop_hz)
    return replace(one, pass_hz=passed, stop_hz=stopped)


def _raise_impedance(one: Specification) -> Specification:
    return replace(one, z0_ohm=DECADE * one.z0_ohm)


def _is_accepted(one: Specification) -> bool:
    """Whether the predictor answers it: what follows from a row may be beyond its ranges."""
    return find_refusal(one) is None


def _ask(predictor: Predictor, specifications: Sequence[Specification]) -> list[dict[str, Any]]:
    if not specifications:
        return []
    return list(iterate_answers(predictor.predict(list_columns(specifications), draws=0)))


def _is_scaled(one: Any, other: Any, factors: tuple[float, float]) -> bool:
    """Whether the other design has the same parts but for the factors of L and C."""
    if (one["topology"], one["order"]) != (other["topology"], other["order"]):
        return False
    for name, factor in zip(("inductors_nh", "capacitors_pf"), factors, strict=True):
        expected = factor * np.array(one[name], dtype=float)
        actual = np.array(other[name], dtype=float)
        if expected.shape != actual.shape or not np.allclose(actual, expected, rtol=SAME, atol=0):
            return False
    return True


def _show(answer: dict[str, Any]) -> str:
    design = answer["designs"][0]
    return f"{design['topology']} {design['inductors_nh']} nH {design['capacitors_pf']} pF"
