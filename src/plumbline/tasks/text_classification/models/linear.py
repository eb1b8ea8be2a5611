"""The simple candidate: TF-IDF of word 1- and 2-grams, their vocabulary from the train split, with a linear layer."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plumbline.contract.task import Learner
from plumbline.tasks.text_classification.models.batches import Batches, Rows, Texts, targets
from plumbline.tasks.text_classification.models.classifier import Classifier
from plumbline.tasks.text_classification.models.export import save
from plumbline.tasks.text_classification.models.forms import Wanted
from plumbline.tasks.text_classification.params import Linear
from plumbline.tasks.text_classification.predictor import Grams, grams

NAMES = ("ids", "weights")


class Bag(torch.nn.Module):
    """A weighted sum of one row of class scores per gram, plus a bias; id 0 is padding."""

    def __init__(self, num_grams: int, num_classes: int, idf: np.ndarray) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.zeros(num_grams + 1, num_classes))
        self.bias = torch.nn.Parameter(torch.zeros(num_classes))
        self.register_buffer("idf", torch.from_numpy(idf))

    def forward(self, ids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Logits (rows, classes) from ids and weights (rows, grams)."""
        return (torch.nn.functional.embedding(ids, self.table) * weights.unsqueeze(2)).sum(
            1
        ) + self.bias


def linear(
    shape: Linear, seed: int, classes: list[str], train: Texts, validation: Texts, asked: Wanted
) -> Learner:
    """A linear model over the `max_features` grams that most train texts hold."""
    vocabulary, idf = _vocabulary(train, shape.max_features)
    features = Grams(vocabulary, idf)
    data = Batches(
        _rows(features, train, classes),
        _rows(features, validation, classes),
        shape.batch_size,
        seed,
    )
    module = Classifier(
        Bag(len(vocabulary), len(classes), idf), partial(_optimizer, shape), label_smoothing=0.0
    )

    def write(folder: Path) -> None:
        config = {"kind": "linear", "classes": classes, "vocabulary": vocabulary}
        save(folder, module.model, data.validation, asked, config)

    return Learner(
        save=write, module=module, data=data, max_epochs=shape.max_epochs, patience=shape.patience
    )


def _vocabulary(train: Texts, max_features: int) -> tuple[list[str], np.ndarray]:
    """The commonest grams (ties in alphabetical order) and their smoothed inverse document frequencies."""
    counts = Counter(gram for text in train.texts for gram in set(grams(text)))
    kept = sorted(sorted(counts, key=lambda gram: (-counts[gram], gram))[:max_features])
    documents = np.array([counts[gram] for gram in kept])
    idf = np.log((1 + len(train.texts)) / (1 + documents)) + 1
    return kept, idf.astype(np.float32)


def _rows(features: Grams, split: Texts, classes: list[str]) -> Rows:
    rows = [features(text) for text in split.texts]
    return Rows(
        NAMES,
        [ids for ids, _ in rows],
        [weights for _, weights in rows],
        targets(split.labels, classes),
    )


def _optimizer(shape: Linear, model: torch.nn.Module) -> Any:
    return torch.optim.AdamW(
        model.parameters(), lr=shape.learning_rate, weight_decay=shape.weight_decay, fused=True
    )
