"""The logits of encoded texts, by the trained model and by the graphs of its forms."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plumbline.tasks.text_classification.models.encoded_texts import EncodedTexts
from plumbline.tasks.text_classification.predictor import ONE_BY_ONE, open_graph

BATCH = 32

Run = Callable[[Sequence[torch.Tensor]], np.ndarray]


@torch.inference_mode()
def compute_model_logits(
    model: torch.nn.Module, rows: EncodedTexts, numbers: np.ndarray
) -> np.ndarray:
    """Return the logits of the model for the rows with these numbers, in the shape it gives."""
    return _compute_logits(lambda inputs: model(*inputs).numpy(), rows, numbers, BATCH)


def compute_graph_logits(path: Path, form: str, rows: EncodedTexts) -> np.ndarray:
    """Return the logits of the graph of a form for every row, in the shape that it gives."""
    session = open_graph(path)

    def run_graph(inputs: Sequence[torch.Tensor]) -> Any:
        arrays = [tensor.numpy() for tensor in inputs]
        return session.run(None, dict(zip(rows.names, arrays, strict=True)))[0]

    size = 1 if form in ONE_BY_ONE else BATCH
    return _compute_logits(run_graph, rows, np.arange(len(rows)), size)


def _compute_logits(run: Run, rows: EncodedTexts, numbers: np.ndarray, size: int) -> np.ndarray:
    """Run rows of similar length together, `size` at a time; logits are in order of `numbers`."""
    order = np.argsort(rows.lengths[numbers], kind="stable")
    answers = []
    for start in range(0, len(order), size):
        batch = rows.__getitems__(numbers[order[start : start + size]].tolist())
        answers.append(run([batch[name] for name in rows.names]))
    return np.concatenate(answers)[np.argsort(order)]
