"""Which form of a model is served: of those that are wanted, the first that answers as the one it was trained in."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plumbline.contract.params import REFERENCE, Evaluation, Parity
from plumbline.statistics import parity
from plumbline.tasks.text_classification.params import Candidate


@dataclass(frozen=True)
class Wanted:
    """The forms to write, in the order of preference, and what one has to show to be served."""

    forms: tuple[str, ...]
    limits: Parity
    confidence: float


def wanted(shape: Candidate, limits: Evaluation) -> Wanted:
    """What params ask for."""
    return Wanted(tuple(shape.forms), limits.parity, limits.confidence)


def served(asked: Wanted, logits: Mapping[str, np.ndarray], targets: np.ndarray) -> str:
    """The form to serve, by what each says of the validation rows: logits (rows, classes); targets (rows,)."""
    answers = {form: said.argmax(axis=1) for form, said in logits.items()}
    return next(
        form for form in asked.forms if form == REFERENCE or _close(asked, form, answers, targets)
    )


def _close(
    asked: Wanted, form: str, answers: Mapping[str, np.ndarray], targets: np.ndarray
) -> bool:
    ours, theirs = answers[form], answers[REFERENCE]
    hits, reference_hits = (ours == targets).astype(float), (theirs == targets).astype(float)
    found = parity.likeness(hits, reference_hits, ours == theirs, "binary", asked.confidence)
    return parity.close(found, asked.limits)
