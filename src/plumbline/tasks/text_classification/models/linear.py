"""The simple candidate: TF-IDF of word 1- and 2-grams with a linear layer.

The vocabulary comes from the train split.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from heapq import nsmallest
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from plumbline.tasks.text_classification.models.batches import TextDataModule
from plumbline.tasks.text_classification.models.designs import ModelDesign, weigh_classes
from plumbline.tasks.text_classification.models.encoded_texts import encode_split
from plumbline.tasks.text_classification.models.texts import LabelledTexts, TrainingTexts
from plumbline.tasks.text_classification.params import LinearConfig
from plumbline.tasks.text_classification.predictor import TfidfFeatures, extract_grams

INPUT_NAMES = ("ids", "weights")
# An epoch that lowers the loss by less does not keep the training going: for its last third, the
# loss falls in the fourth decimal while the accuracy stays.
MIN_GAIN = 0.01
HEADER = """<ir_version: 10, opset_import: ["": 20]>
linear (int64[rows, tokens] {ids}, float[rows, tokens] {values}) => (float[{shape}] logits) {{
columns = Unsqueeze ({values}, last)
"""
MEMBER = """rows{n} = Gather (table{n}, {ids})
weighted{n} = Mul (rows{n}, columns)
sums{n} = ReduceSum <keepdims = 0> (weighted{n}, first)
{logits} = Add (sums{n}, bias{n})
"""


class LinearTfidf(torch.nn.Module):
    """A weighted sum of one row of class scores per gram, plus a bias; id 0 is padding."""

    def __init__(self, num_grams: int, num_classes: int, idf: np.ndarray) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.zeros(num_grams + 1, num_classes))
        self.bias = torch.nn.Parameter(torch.zeros(num_classes))
        self.register_buffer("idf", torch.tensor(idf))

    def forward(self, ids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Logits (rows, classes) from ids and weights (rows, grams)."""
        rows = functional.embedding(ids, self.table)
        return (rows * weights.unsqueeze(2)).sum(1) + self.bias

    def build_graph(self) -> Any:
        """Return the onnx.ModelProto that answers as this model."""
        return build_linear_graph(INPUT_NAMES, [self.get_weights()], is_ensemble=False)

    def get_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Return table and bias."""
        return self.table.detach().numpy(), self.bias.detach().numpy()


def plan_linear(config: LinearConfig, seed: int, texts: TrainingTexts) -> ModelDesign:
    """Plan a linear model on the `max_features` grams that most train texts contain."""
    classes = texts.classes
    vocabulary, idf = _choose_vocabulary(texts.train, config.max_features)
    features = TfidfFeatures(vocabulary, idf)
    train = encode_split(INPUT_NAMES, texts.train, classes, features)
    validation = encode_split(INPUT_NAMES, texts.validation, classes, features)
    data = TextDataModule(train, validation, config.batch_size, seed)

    def build_model(seed: int) -> torch.nn.Module:
        return LinearTfidf(len(vocabulary), len(classes), idf)

    def write_settings(folder: Path, model: torch.nn.Module) -> dict[str, Any]:
        return {
            "kind": "linear",
            "classes": classes,
            "max_chars": texts.max_chars,
            "vocabulary": vocabulary,
        }

    class_weights = weigh_classes(config.class_weights, texts)
    is_plain = class_weights is None and config.label_smoothing == 0
    return ModelDesign(
        config=config,
        data=data,
        build_model=build_model,
        configure_optimizers=partial(_configure_optimizer, config),
        write_settings=write_settings,
        label_smoothing=config.label_smoothing,
        class_weights=class_weights,
        min_gain=MIN_GAIN,
        monitor="validation/loss" if is_plain else "validation/objective",
    )


def _choose_vocabulary(train: LabelledTexts, max_features: int) -> tuple[list[str], np.ndarray]:
    """Return the most common grams, sorted, and their smoothed inverse document frequencies.

    Of equally common grams, the first in alphabetical order are kept.
    """
    counts: Counter[str] = Counter()
    for texts in train.iterate_texts():
        for text in texts:
            counts.update(set(extract_grams(text)))
    vocabulary = sorted(nsmallest(max_features, counts, key=lambda gram: (-counts[gram], gram)))
    documents = np.array([counts[gram] for gram in vocabulary])
    idf = np.log((1 + train.num_rows) / (1 + documents)) + 1
    return vocabulary, idf.astype(np.float32)


def _configure_optimizer(config: LinearConfig, model: torch.nn.Module) -> Any:
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True
    )
    return optimizer, None


def build_linear_graph(
    names: tuple[str, str], weights: Sequence[tuple[np.ndarray, np.ndarray]], *, is_ensemble: bool
) -> Any:
    """Return an onnx.ModelProto that computes the logits (rows, classes) of a linear model.

    PyTorch's exporter takes ten CPU seconds for the same, most of it for its table of operators.
    `weights` are the table (grams, classes) and the bias (classes,) of each member; the logits of
    an ensemble are (rows, members, classes).
    """
    from onnx import numpy_helper, parser

    ids, values = names
    num_classes = len(weights[0][1])
    shape = f"rows, {len(weights)}, {num_classes}" if is_ensemble else f"rows, {num_classes}"
    text = HEADER.format(ids=ids, values=values, shape=shape)
    constants = {"first": np.array([1]), "last": np.array([2])}
    for number, (table, bias) in enumerate(weights):
        constants |= {f"table{number}": table, f"bias{number}": bias}
        logits = f"logits{number}" if is_ensemble else "logits"
        text += MEMBER.format(n=number, ids=ids, logits=logits)
        if is_ensemble:
            text += f"member{number} = Unsqueeze ({logits}, first)\n"
    if is_ensemble:
        members = ", ".join(f"member{number}" for number in range(len(weights)))
        text += f"logits = Concat <axis = 1> ({members})\n"
    model = parser.parse_model(text + "}")
    for name, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    return model
