"""What the oracle says of each answer, whatever the answer says of itself."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from plumbline.contract.task import Predictor
from tasks.filter_design.data.specifications import Specification, list_columns
from tasks.filter_design.scoring.oracle import (
    NANO,
    PICO,
    TOLERANCE_DB,
    LadderDesign,
    compute_margin,
    describe_fault,
    read_ladder,
)

NUM_DESIGNS = 3  # that a predictor may return for a row
WORST_DB = -400.0
# The preferred numbers of IEC 60063, written apart from those of the predictor.
TOLERANCE = 1e-6  # of a value, that units may cost
_E24 = "10 11 12 13 15 16 18 20 22 24 27 30 33 36 39 43 47 51 56 62 68 75 82 91"  # tenths
NUMBERS = {
    "E12": tuple(int(number) / 10 for number in _E24.split()[::2]),
    "E24": tuple(int(number) / 10 for number in _E24.split()),
    "E96": tuple(round(10 ** (place / 96), 2) for place in range(96)),
}


class Verdict(NamedTuple):
    """The best design of one answer."""

    margin_db: float  # WORST_DB where no design is a ladder of standard parts
    claims_met: bool
    calls: float  # of the simulator

    @property
    def is_met(self) -> bool:
        """Whether it meets the mask, but for rounding."""
        return self.margin_db >= -TOLERANCE_DB


def judge_specifications(
    specifications: Sequence[Specification], predictor: Predictor, **params: Any
) -> list[Verdict]:
    """Ask for designs without their yield, and judge the best design of each answer."""
    columns = list_columns(specifications)
    answers = predictor.predict(columns, designs=NUM_DESIGNS, draws=0, **params)
    rows = zip(specifications, iterate_answers(answers), strict=True)
    return [judge_answer(specification, answer) for specification, answer in rows]


def iterate_answers(answers: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the answer to each row, by the names of the signature."""
    for values in zip(*answers.values(), strict=True):
        yield dict(zip(answers, values, strict=True))


def find_fault(specification: Specification, ladder: LadderDesign) -> str | None:
    """Say why a specification's design is not a ladder of standard parts; None if it is one."""
    fault = describe_fault(specification, ladder)
    return fault or describe_other_part(specification.series, ladder)


def judge_answer(specification: Specification, answer: Mapping[str, Any]) -> Verdict:
    """Judge the best design of an answer; ValueError where there are more than were asked for."""
    designs = answer["designs"]
    if len(designs) > NUM_DESIGNS:
        raise ValueError(f"{len(designs)} designs; {NUM_DESIGNS} were asked for")
    margin = WORST_DB
    for design in designs:
        ladder = read_ladder(design)
        if find_fault(specification, ladder):
            continue
        own = compute_margin(specification, ladder)
        if np.isfinite(own):
            margin = max(own, margin)
    return Verdict(margin, bool(answer["meets_spec"]), float(answer["calls"]))


def describe_other_part(series: str, ladder: LadderDesign) -> str | None:
    """Name the first part whose value the series does not have; None if it has them all."""
    parts = [(value / NANO, "nH") for value in ladder.inductors]
    parts += [(value / PICO, "pF") for value in ladder.capacitors]
    for value, unit in parts:
        if not is_preferred(series, value):
            return f"{value:.6g} {unit} is not a value of {series}"
    return None


def is_preferred(series: str, value: float) -> bool:
    """Whether the series has the value, in any decade."""
    digits = value / 10 ** math.floor(math.log10(value) + TOLERANCE / 10)
    return any(abs(digits - number) <= TOLERANCE * number for number in NUMBERS[series])
