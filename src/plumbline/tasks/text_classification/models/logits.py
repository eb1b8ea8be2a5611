"""The logits of encoded texts, by the trained model and by the graphs of its forms."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch

from plumbline.tasks.text_classification.models.encoded_texts import EncodedTexts
from plumbline.tasks.text_classification.predictor import ONE_BY_ONE, open_graph

BATCH = 32
NUM_TRIED = 256  # rows that the model and its graph answer

Run = Callable[[Mapping[str, torch.Tensor]], np.ndarray]


@torch.inference_mode()
def compute_model_logits(
    model: torch.nn.Module, rows: EncodedTexts, numbers: np.ndarray | None = None
) -> np.ndarray:
    """Return the logits of the model for every row, in the shape that it gives.

    With `numbers`, only those rows are computed, and the others are NaN.
    """

    def run_model(inputs: Mapping[str, torch.Tensor]) -> np.ndarray:
        logits: np.ndarray = model(*inputs.values()).numpy()
        return logits

    order = _order_by_length(rows)
    if numbers is not None:
        order = order[np.isin(order, numbers)]
    return _compute_logits(run_model, rows, order, BATCH)


def draw_tried_rows(rows: EncodedTexts) -> np.ndarray:
    """Draw the numbers of up to NUM_TRIED rows."""
    return np.random.default_rng(NUM_TRIED).permutation(len(rows))[:NUM_TRIED]


def compute_graph_logits(path: Path, form: str, rows: EncodedTexts) -> np.ndarray:
    """Return the logits of the graph of a form for every row, in the shape that it gives."""
    import onnx

    onnx.checker.check_model(path)
    size = 1 if form in ONE_BY_ONE else BATCH
    return _compute_logits(_open_run(path), rows, _order_by_length(rows), size)


def _open_run(path: Path) -> Run:
    session = open_graph(path)

    def run_graph(inputs: Mapping[str, torch.Tensor]) -> np.ndarray:
        feed = {name: tensor.numpy() for name, tensor in inputs.items()}
        logits: np.ndarray = session.run(None, feed)[0]
        return logits

    return run_graph


def _order_by_length(rows: EncodedTexts) -> np.ndarray:
    return np.argsort(rows.lengths, kind="stable")


def _compute_logits(run: Run, rows: EncodedTexts, order: np.ndarray, size: int) -> np.ndarray:
    """Run the rows of `order`, `size` at a time; return the logits of row n at index n.

    Of rows that are not in `order` they are NaN.
    """
    logits = np.empty(0)
    for start in range(0, len(order), size):
        numbers = order[start : start + size]
        batch = rows.__getitems__(numbers.tolist())
        answers = run({name: batch[name] for name in rows.names})
        if not start:
            logits = np.full((len(rows), *answers.shape[1:]), np.nan, answers.dtype)
        logits[numbers] = answers
    return logits
