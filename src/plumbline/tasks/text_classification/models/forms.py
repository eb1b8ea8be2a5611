"""Which form of a model is served: the first in order of preference that passes the comparison.

A form passes if it answers as the form that the model was trained in.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plumbline.contract.params import TRAINED_FORM, Evaluation, Parity, Selective
from plumbline.statistics import parity
from plumbline.tasks.text_classification.models.label_decisions import choose_answers, find_equal
from plumbline.tasks.text_classification.params import CandidateConfig


@dataclass(frozen=True)
class FormPolicy:
    """The forms to write, in order of preference, and the limits a form must keep to be served.

    `selective` is the risk that answers of the served form must keep, if there is one.
    """

    forms: tuple[str, ...]
    limits: Parity
    confidence: float
    selective: Selective | None


def read_form_policy(config: CandidateConfig, evaluation: Evaluation) -> FormPolicy:
    """Read the policy from params."""
    return FormPolicy(
        tuple(config.forms), evaluation.parity, evaluation.confidence, evaluation.selective
    )


def choose_served_form(
    policy: FormPolicy, logits: Mapping[str, np.ndarray], targets: np.ndarray
) -> str:
    """Choose the form to serve from each form's logits on the validation rows.

    They have the shape (rows, classes), of an ensemble (rows, members, classes); `targets` has
    (rows,), of sets of labels (rows, classes). The reference is always one of the forms, and it
    passes.
    """
    for form in policy.forms:
        if form == TRAINED_FORM:
            return form
        if find_difference(policy, logits[form], logits[TRAINED_FORM], targets) is None:
            return form
    raise ValueError(f"{TRAINED_FORM} is not one of the forms: {', '.join(policy.forms)}")


def find_difference(
    policy: FormPolicy, logits: np.ndarray, reference_logits: np.ndarray, targets: np.ndarray
) -> str | None:
    """Return how a form differs from the reference by more than the limits; None where it does not.

    Logits and targets are those of choose_served_form.
    """
    answers, expected = choose_answers(logits, reference_logits, targets)
    hits = find_equal(answers, targets).astype(float)
    reference_hits = find_equal(expected, targets).astype(float)
    agrees = find_equal(answers, expected)
    variant_parity = parity.measure_parity(
        hits, reference_hits, agrees, "binary", policy.confidence
    )
    if parity.is_shown(variant_parity, policy.limits, policy.confidence):
        return None
    return (
        f"on {len(targets)} validation rows it gives the answer of {TRAINED_FORM} on "
        f"{variant_parity.agreement:.2%} (at least {policy.limits.min_agreement:.2%}, by the lower "
        f"end of its interval), and may "
        f"lose {-variant_parity.interval.low:.4f} (at most {policy.limits.max_loss})"
    )
