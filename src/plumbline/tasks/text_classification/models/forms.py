"""Which form of a model is served: int8, where it answers as fp32, which was trained."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.params import INT8, TRAINED_FORM, Evaluation
from plumbline.contract.steps import announce
from plumbline.encoders.graphs import write_int8_form
from plumbline.statistics import parity
from plumbline.tasks.text_classification.models.batches import TextDataModule
from plumbline.tasks.text_classification.models.label_decisions import choose_answers, find_equal
from plumbline.tasks.text_classification.models.logits import compute_graph_logits

FILES = {TRAINED_FORM: "model.onnx", INT8: "model.int8.onnx"}


@dataclass(frozen=True)
class FormPolicy:
    """The forms to write, in order of preference, and what a form must show to be served."""

    forms: tuple[str, ...]
    evaluation: Evaluation


@dataclass(frozen=True)
class FormChoice:
    """The form that is served, its logits on the validation rows, and why int8 is not."""

    served: str
    logits: np.ndarray
    fault: str | None


def choose_form(
    folder: Path, graph: Any, data: TextDataModule, policy: FormPolicy, reference: np.ndarray
) -> FormChoice:
    """Write the form int8 to `folder`, if `policy` asks for it, and choose what is served.

    `graph`, an onnx.ModelProto, and the logits `reference` of the validation rows are those of the
    form fp32. They have the shape (rows, classes), of an ensemble (rows, members, classes).
    """
    served = policy.forms[0]
    if INT8 not in policy.forms:
        return FormChoice(served, reference, None)
    announce("tries the form int8 on the validation rows")
    path = folder / FILES[INT8]
    write_int8_form(graph, path)
    logits = compute_graph_logits(path, INT8, data.validation)
    fault = find_difference(policy, logits, reference, data.validation.targets)
    said = f"no: {fault}" if fault else "yes, it answers as fp32"
    print(f"train: may int8 serve? {said}", flush=True)  # noqa: T201 (the stage's result)
    if fault or served == TRAINED_FORM:
        return FormChoice(TRAINED_FORM, reference, fault)
    return FormChoice(INT8, logits, None)


def find_difference(
    policy: FormPolicy, logits: np.ndarray, reference_logits: np.ndarray, targets: np.ndarray
) -> str | None:
    """Return how a form differs from the reference by more than the limits; None where it does not.

    Logits are those of choose_form; `targets` has the shape (rows,), of sets of labels
    (rows, classes).
    """
    answers, expected = choose_answers(logits, reference_logits, targets)
    hits = find_equal(answers, targets).astype(float)
    reference_hits = find_equal(expected, targets).astype(float)
    agrees = find_equal(answers, expected)
    limits, confidence = policy.evaluation.parity, policy.evaluation.confidence
    variant_parity = parity.measure_parity(hits, reference_hits, agrees, "binary", confidence)
    if parity.is_shown(variant_parity, limits, confidence):
        return None
    return (
        f"{variant_parity.agreement:.2%} of {len(targets)} validation rows get the answer of "
        f"{TRAINED_FORM} (the lower end of the interval must reach {limits.min_agreement:.2%}), "
        f"and the score may fall by {-variant_parity.interval.low:.4f} (at most {limits.max_loss})"
    )
