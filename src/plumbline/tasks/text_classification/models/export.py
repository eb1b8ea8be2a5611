"""Writes what the predictor needs: safetensors, an ONNX graph for each form, and config.json."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from plumbline.contract.errors import TrainingError
from plumbline.contract.params import TRAINED_FORM
from plumbline.encoders.graphs import export_graph
from plumbline.process.files import write_json
from plumbline.statistics.selection import choose_threshold
from plumbline.tasks.text_classification.models.batches import TextDataModule
from plumbline.tasks.text_classification.models.encoded_texts import EncodedTexts
from plumbline.tasks.text_classification.models.forms import FILES, FormPolicy, choose_form
from plumbline.tasks.text_classification.models.label_decisions import (
    choose_label_thresholds,
    compute_losses,
    measure_set_answers,
    pool_log_probabilities,
)
from plumbline.tasks.text_classification.models.logits import (
    compute_graph_logits,
    compute_model_logits,
)

WEIGHTS = "model.safetensors"
CONFIG = "config.json"
NUM_TRIED = 256  # rows that the model and its graph answer
TOLERANCE = 1e-4  # of logits, which are of the order of 1 to 10
ABOVE_ALL_SCORES = 2.0  # a threshold that no probability reaches
SET_OUTPUTS = ["labels"]  # that a bundle has besides the others where rows have sets of labels


def export_model(
    folder: Path,
    model: torch.nn.Module,
    data: TextDataModule,
    policy: FormPolicy,
    config: dict[str, Any],
) -> None:
    """Write `model` in the forms of `policy`, and its `config`, which names the served form.

    Raises TrainingError if the graph of the reference does not answer as the model does.
    """
    model = model.float().cpu().eval()
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, folder / WEIGHTS)
    graph = derive_graph(model, data.validation)
    path = folder / FILES[TRAINED_FORM]
    path.write_bytes(graph.SerializeToString(deterministic=True))
    logits = compute_graph_logits(path, TRAINED_FORM, data.validation)
    # Evaluate compares rows of test.
    tried = np.random.default_rng(NUM_TRIED).permutation(len(logits))[:NUM_TRIED]
    _check_logits(logits[tried], compute_model_logits(model, data.validation, tried))
    choice = choose_form(folder, graph, data, policy, logits)
    targets = data.validation.targets
    temperature = fit_temperature(choice.logits, targets)
    config |= {
        "temperature": temperature,
        **choose_sealed_thresholds(policy, choice.logits / temperature, targets),
        "forms": {form: FILES[form] for form in policy.forms},
        "served": choice.served,
    }
    if choice.fault:
        sentence = f"{choice.served} is served; int8: {choice.fault}"
        config["notes"] = [*config.get("notes", []), sentence]
    write_json(folder / CONFIG, config)


def derive_graph(model: torch.nn.Module, rows: EncodedTexts) -> Any:
    """Return the graph of `model`, an onnx.ModelProto; `rows` are what it may be asked.

    Equal weights give an equal graph. A linear model writes its own.
    """
    build_graph = getattr(model, "build_graph", partial(_export_model, model, rows))
    return build_graph()


def fit_temperature(logits: np.ndarray, targets: np.ndarray) -> float:
    """Return the number by which logits (rows, classes) are divided for the least NLL.

    The method is that of Guo et al. 2017 (arXiv:1706.04599). `targets` has shape (rows,), of sets
    of labels (rows, classes). Logits of an ensemble (rows, members, classes) get one number for
    all, fitted to their mean.
    """
    from scipy.optimize import minimize_scalar

    def compute_nll(log_temperature: float) -> float:
        return float(compute_losses(logits / np.exp(log_temperature), targets).mean())

    return float(np.exp(minimize_scalar(compute_nll, bounds=(-3, 3), method="bounded").x))


def choose_sealed_thresholds(
    policy: FormPolicy, logits: np.ndarray, targets: np.ndarray
) -> dict[str, Any]:
    """Return what config.json says of thresholds; `logits` are calibrated, of the validation rows.

    `threshold` is the score from which the model answers itself. For sets of labels, `thresholds`
    are the probabilities from which it gives each label.
    """
    if targets.ndim == 1:
        probabilities = np.exp(pool_log_probabilities(logits))
        hits = probabilities.argmax(axis=1) == targets
        return {"threshold": _choose_threshold(policy, probabilities.max(axis=1), hits)}
    from scipy.special import expit

    probabilities = expit(logits)
    thresholds = choose_label_thresholds(probabilities, targets)
    confidence, hits = measure_set_answers(probabilities, thresholds, targets)
    return {
        "threshold": _choose_threshold(policy, confidence, hits),
        "thresholds": thresholds,
        "outputs": SET_OUTPUTS,
    }


def _choose_threshold(policy: FormPolicy, confidence: np.ndarray, hits: np.ndarray) -> float | None:
    """Return the score from which the model answers itself; None where params ask for no risk.

    Where no score is known to keep it, the model leaves all rows to people, and the gate
    `selective` refuses it.
    """
    promise = policy.evaluation.selective
    if promise is None:
        return None
    selection = choose_threshold(
        confidence, hits.astype(float), promise.risk, policy.evaluation.confidence
    )
    return selection.threshold if selection else ABOVE_ALL_SCORES


def _export_model(model: torch.nn.Module, rows: EncodedTexts) -> Any:
    """Return the graph of `model`, traced on the two longest of `rows`."""
    longest = list(map(int, np.argsort(rows.lengths)[-2:]))
    batch = rows.__getitems__(longest)
    return export_graph(model, {name: batch[name] for name in rows.names}, "logits")


def _check_logits(logits: np.ndarray, expected: np.ndarray) -> None:
    difference = float(np.abs(logits - expected).max())
    if not difference <= TOLERANCE * max(1.0, float(np.abs(expected).max())):  # NaN is caught too
        raise TrainingError(
            f"{FILES[TRAINED_FORM]}: its logits differ from the model's by {difference:.2g}; "
            "nothing was saved"
        )
