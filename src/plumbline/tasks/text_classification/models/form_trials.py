"""Tries the int8 forms in order: the first that answers as fp32, alone and in company, is kept."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.params import TRAINED_FORM
from plumbline.contract.steps import announce
from plumbline.tasks.text_classification.models.batches import TextDataModule
from plumbline.tasks.text_classification.models.forms import (
    FormPolicy,
    choose_served_form,
    find_difference,
)
from plumbline.tasks.text_classification.models.int8.forms import INT8_FORMS, write_int8_form
from plumbline.tasks.text_classification.models.int8.states import draw_texts
from plumbline.tasks.text_classification.models.logits import compute_graph_logits, measure_company

INT8 = "int8"  # in params: the first of the int8 forms that passes
FILES = {TRAINED_FORM: "model.onnx"} | {form: f"model.{form}.onnx" for form in INT8_FORMS}
COMPANY_TOLERANCE = 1e-5  # of logits, as a share of the largest if that is more than 1


@dataclass(frozen=True)
class FormTrial:
    """An int8 form, its logits on the validation rows, and what speaks against it."""

    form: str
    logits: np.ndarray
    fault: str | None


@dataclass(frozen=True)
class FormChoice:
    """The forms of a bundle, the preferred one first, and what was tried to choose them."""

    forms: tuple[str, ...]
    served: str
    logits: np.ndarray  # of the served form
    trials: Sequence[FormTrial]

    def describe_trials(self, config: dict[str, Any]) -> None:
        """Write into a bundle's `config` what was tried, print it, and note what was refused."""
        if not self.trials:
            return
        config["int8"] = {trial.form: trial.fault or "passes" for trial in self.trials}
        for trial in self.trials:
            print(f"train: {trial.form}: {config['int8'][trial.form]}", flush=True)  # noqa: T201 (the stage's result)
        refused = [f"{trial.form}: {trial.fault}" for trial in self.trials if trial.fault]
        if refused:
            sentence = f"{self.served} is served; {'; '.join(refused)}"
            config["notes"] = [*config.get("notes", []), sentence]


def choose_form(
    folder: Path, graph: Any, data: TextDataModule, policy: FormPolicy, reference: np.ndarray
) -> FormChoice:
    """Write the int8 form to `folder` that is kept, if `policy` asks for one, and choose.

    `graph`, an onnx.ModelProto, and the logits `reference` are those of the form fp32.
    """
    logits = {TRAINED_FORM: reference}
    forms = policy.forms
    trials: list[FormTrial] = []
    if INT8 in forms:
        trials = _try_forms(folder, graph, data, policy, reference)
        kept = trials[-1]
        logits[kept.form] = kept.logits
        forms = tuple(kept.form if form == INT8 else form for form in forms)
    served = choose_served_form(
        dataclasses.replace(policy, forms=forms), logits, data.validation.targets
    )
    return FormChoice(forms, served, logits[served], trials)


def _try_forms(
    folder: Path, graph: Any, data: TextDataModule, policy: FormPolicy, reference: np.ndarray
) -> list[FormTrial]:
    """Try one form after another until one passes; only the graph of the last is kept.

    Where none passes, that is the one which is left for comparison, and not served.
    """
    texts = draw_texts(len(data.train), data.train.read_rows)
    trials: list[FormTrial] = []
    for form in INT8_FORMS:
        announce(f"tries the form {form} on the validation rows")
        path = folder / FILES[form]
        write_int8_form(form, graph, texts, path)
        logits = compute_graph_logits(path, form, data.validation)
        moved = measure_company(path, form, data.validation)
        fault = find_difference(policy, logits, reference, data.validation.targets)
        if not moved <= COMPANY_TOLERANCE * max(1.0, float(np.abs(logits).max())):
            fault = f"the other rows of a batch move its logits by {moved:.2g}"
        trials.append(FormTrial(form, logits, fault))
        if fault is None:
            break
        if form != INT8_FORMS[-1]:
            path.unlink()
    return trials
