"""What the oracle says of each answer, whatever the answer says of itself."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from plumbline.contract.task import Predictor
from tasks.filter_design.data import Specification, list_columns
from tasks.filter_design.scoring.oracle import (
    TOLERANCE_DB,
    LadderDesign,
    compute_margin,
    describe_fault,
    read_ladder,
)
from tasks.filter_design.scoring.standard_parts import describe_other_part

NUM_DESIGNS = 3  # that a predictor may return for a row
WORST_DB = -400.0  # the margin where no design is a ladder of standard parts


class Verdict(NamedTuple):
    """The best design of one answer."""

    ladder: LadderDesign | None  # None: no design is a ladder of standard parts
    margin_db: float
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
    best, margin = None, WORST_DB
    for design in designs:
        ladder = read_ladder(design)
        if find_fault(specification, ladder):
            continue
        own = compute_margin(specification, ladder)
        if np.isfinite(own) and (best is None or own > margin):
            best, margin = ladder, max(own, WORST_DB)
    return Verdict(best, margin, bool(answer["meets_spec"]), float(answer["calls"]))
