"""Writes what the predictor needs: safetensors, an ONNX graph for each form of the model, and config.json."""

import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from plumbline.contract import layout
from plumbline.contract.errors import TrainingError
from plumbline.contract.params import REFERENCE
from plumbline.tasks.text_classification.models.batches import Rows
from plumbline.tasks.text_classification.models.forms import Wanted, served
from plumbline.tasks.text_classification.models.graphs import tidy
from plumbline.tasks.text_classification.models.quantisation import quantise
from plumbline.tasks.text_classification.predictor import ONE_BY_ONE

WEIGHTS, CONFIG = "model.safetensors", "config.json"
FILES = {REFERENCE: "model.onnx", "int8": "model.int8.onnx"}
DERIVED = {"int8": quantise}  # from the reference's graph
OPSET = 20
TOLERANCE = 1e-4  # of logits, which are of the order of 1 to 10
BATCH = 64


def save(
    folder: Path, model: torch.nn.Module, validation: Rows, asked: Wanted, config: dict[str, Any]
) -> None:
    """Write `model` in the forms asked for, and its `config`, which names the one that is served.

    TrainingError if the graph of the reference answers otherwise than the model.
    """
    model = model.float().cpu().eval()
    save_file(
        {name: tensor.contiguous() for name, tensor in model.state_dict().items()}, folder / WEIGHTS
    )
    graph = _exported(model, validation)
    (folder / FILES[REFERENCE]).write_bytes(graph.SerializeToString(deterministic=True))
    for form in set(asked.forms) - {REFERENCE}:
        DERIVED[form](graph, folder / FILES[form])
    logits = {form: _answers(folder, form, validation) for form in {REFERENCE, *asked.forms}}
    _compare(logits[REFERENCE], _logits(model, validation))
    chosen = served(asked, logits, validation.targets)
    config |= {"temperature": temperature(logits[chosen], validation.targets)}
    config |= {"forms": {form: FILES[form] for form in asked.forms}, "served": chosen}
    layout.write_json(folder / CONFIG, config)


def temperature(logits: np.ndarray, targets: np.ndarray) -> float:
    """The number that divides logits (rows, classes) to the least NLL (Guo et al. 2017, arXiv:1706.04599)."""
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    def nll(log_temperature: float) -> float:
        return -float(
            log_softmax(logits / np.exp(log_temperature), axis=1)[
                np.arange(len(targets)), targets
            ].mean()
        )

    return float(np.exp(minimize_scalar(nll, bounds=(-3, 3), method="bounded").x))


def _exported(model: torch.nn.Module, rows: Rows) -> Any:
    """The graph of `model`, as an onnx.ModelProto."""
    batch = rows.__getitems__([int(at) for at in np.argsort(rows.lengths)[-2:]])
    inputs = {name: batch[name] for name in rows.names}
    size, length = torch.export.Dim("rows", min=1), torch.export.Dim("tokens", min=1)
    logging.getLogger("torch.onnx").setLevel(
        logging.ERROR
    )  # it misses torchvision, which no text needs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own deprecations
        program = torch.onnx.export(
            model,
            kwargs=inputs,
            dynamo=True,
            dynamic_shapes={name: {0: size, 1: length} for name in rows.names},
            input_names=list(rows.names),
            output_names=["logits"],
            opset_version=OPSET,
            verbose=False,
            optimize=True,
        )
    assert program is not None  # noqa: S101 (for the type checker: dynamo=True gives a program)
    graph = program.model_proto  # a copy, made anew at each look
    tidy(graph)
    return graph


@torch.inference_mode()
def _logits(model: torch.nn.Module, rows: Rows) -> np.ndarray:
    """What the model says of every row, shape (rows, classes)."""
    answers = [(batch, model(*inputs).numpy()) for batch, inputs in _inputs(rows, BATCH)]
    return _in_order(answers)


def _answers(folder: Path, form: str, rows: Rows) -> np.ndarray:
    """What the graph of a form says of every row, shape (rows, classes)."""
    import onnx
    import onnxruntime

    path = folder / FILES[form]
    onnx.checker.check_model(path)
    session = onnxruntime.InferenceSession(path)
    answers = []
    for batch, inputs in _inputs(rows, 1 if form in ONE_BY_ONE else BATCH):
        feed = {name: tensor.numpy() for name, tensor in zip(rows.names, inputs, strict=True)}
        answers.append((batch, session.run(None, feed)[0]))
    return _in_order(answers)


def _compare(found: np.ndarray, expected: np.ndarray) -> None:
    difference = float(np.abs(found - expected).max())
    if not difference <= TOLERANCE * max(1.0, float(np.abs(expected).max())):
        raise TrainingError(
            f"{FILES[REFERENCE]}: its logits differ from the model's by {difference:.2g}; nothing was saved"
        )


def _inputs(rows: Rows, size: int) -> Iterator[tuple[np.ndarray, tuple[torch.Tensor, ...]]]:
    order = np.argsort(rows.lengths, kind="stable")
    for at in range(0, len(order), size):
        batch = rows.__getitems__(order[at : at + size].tolist())
        yield order[at : at + size], tuple(batch[name] for name in rows.names)


def _in_order(answers: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    order, values = (
        np.concatenate([rows for rows, _ in answers]),
        np.concatenate([part for _, part in answers]),
    )
    placed = np.empty_like(values)
    placed[order] = values
    return placed
