"""Writes what the predictor needs: safetensors, an ONNX graph that answers as the model does, and config.json."""

import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from plumbline import layout
from plumbline.errors import TrainingError
from plumbline.tasks.text_classification.models.batches import Rows

WEIGHTS, GRAPH, CONFIG = "model.safetensors", "model.onnx", "config.json"
OPSET = 20
TOLERANCE = 1e-4  # of logits, which are of the order of 1 to 10
BATCH = 64


def save(folder: Path, model: torch.nn.Module, validation: Rows, config: dict[str, Any]) -> None:
    """Write `model` and its `config` into `folder`; TrainingError if the ONNX graph answers otherwise."""
    model = model.float().cpu().eval()
    save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, folder / WEIGHTS)
    _export(folder / GRAPH, model, validation)
    logits = _logits(model, validation)
    _compare(folder / GRAPH, validation, logits)
    config |= {"temperature": temperature(logits, validation.targets), "forms": {"fp32": GRAPH}, "served": "fp32"}
    layout.write_json(folder / CONFIG, config)


def temperature(logits: np.ndarray, targets: np.ndarray) -> float:
    """The number that divides logits (rows, classes) to the least NLL (Guo et al. 2017, arXiv:1706.04599)."""
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    def nll(log_temperature: float) -> float:
        return -float(log_softmax(logits / np.exp(log_temperature), axis=1)[np.arange(len(targets)), targets].mean())

    return float(np.exp(minimize_scalar(nll, bounds=(-3, 3), method="bounded").x))


def _export(path: Path, model: torch.nn.Module, rows: Rows) -> None:
    batch = rows.__getitems__([int(at) for at in np.argsort(rows.lengths)[-2:]])
    inputs = {name: batch[name] for name in rows.names}
    size, length = torch.export.Dim("rows", min=1), torch.export.Dim("tokens", min=1)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it misses torchvision, which no text needs
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
    _write(path, program.model_proto)


def _write(path: Path, graph: Any) -> None:
    """Write `graph` without the source paths that the exporter leaves in it, so that its digest is the model's."""
    import onnx

    for item in _described(graph):
        del item.metadata_props[:]
        item.doc_string = ""
    path.write_bytes(graph.SerializeToString(deterministic=True))
    onnx.checker.check_model(path)


def _described(graph: Any) -> Iterator[Any]:
    yield graph
    for part in [graph.graph, *graph.functions]:
        yield part
        yield from part.node
    yield from [*graph.graph.input, *graph.graph.output, *graph.graph.value_info]


@torch.inference_mode()
def _logits(model: torch.nn.Module, rows: Rows) -> np.ndarray:
    """What the model says of every row, shape (rows, classes)."""
    answers = [(batch, model(*inputs).numpy()) for batch, inputs in _inputs(rows)]
    return _in_order(answers)


def _compare(path: Path, rows: Rows, expected: np.ndarray) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    answers = []
    for batch, inputs in _inputs(rows):
        feed = {name: tensor.numpy() for name, tensor in zip(rows.names, inputs, strict=True)}
        answers.append((batch, session.run(None, feed)[0]))
    difference = float(np.abs(_in_order(answers) - expected).max())
    if not difference <= TOLERANCE * max(1.0, float(np.abs(expected).max())):
        raise TrainingError(f"{path.name}: its logits differ from the model's by {difference:.2g}; nothing was saved")


def _inputs(rows: Rows) -> Iterator[tuple[np.ndarray, tuple[torch.Tensor, ...]]]:
    order = np.argsort(rows.lengths, kind="stable")
    for at in range(0, len(order), BATCH):
        batch = rows.__getitems__(order[at : at + BATCH].tolist())
        yield order[at : at + BATCH], tuple(batch[name] for name in rows.names)


def _in_order(answers: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    order, values = np.concatenate([rows for rows, _ in answers]), np.concatenate([part for _, part in answers])
    placed = np.empty_like(values)
    placed[order] = values
    return placed
