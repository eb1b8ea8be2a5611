"""Answers pictures by torch. It goes into every bundle, and imports nothing of plumbline."""

import json

import numpy as np
import torch
from safetensors.torch import load_file

SIZE = 16  # pictures are square


class Network(torch.nn.Sequential):
    """Two convolutions, and a linear layer on their largest answers."""

    def __init__(self, channels, num_labels):
        super().__init__(
            torch.nn.Conv2d(1, channels, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(channels, 2 * channels, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.AdaptiveMaxPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Linear(8 * channels, num_labels),
        )


def load(folder, form=None):
    channels, labels = json.loads((folder / "model.json").read_text())
    network = Network(channels, len(labels))
    network.load_state_dict(load_file(folder / "model.safetensors"))
    return Predictor(network.eval(), labels)


class Predictor:
    """The label of each picture, and its probability."""

    forms = ("exact",)

    def __init__(self, network, labels):
        self._network, self._labels = network, labels

    def predict(self, columns):
        pictures = [check_picture(row, value) for row, value in enumerate(columns["pixels"])]
        with torch.inference_mode():
            scores = self._network(scale(np.stack(pictures))).softmax(dim=1)
        best = scores.max(dim=1)
        labels = [self._labels[place] for place in best.indices.tolist()]
        return {"label": labels, "score": best.values.tolist()}


def check_picture(row, value):
    """Return a picture as an array; ValueError names a bad row."""
    try:
        picture = np.array([list(line) for line in value])
    except (TypeError, ValueError):
        picture = np.empty(0)
    is_whole = picture.shape == (SIZE, SIZE) and picture.dtype.kind in "iu"
    if not is_whole or picture.min() < 0 or picture.max() > 255:
        wanted = f"{SIZE} lists of {SIZE} whole numbers from 0 to 255"
        raise ValueError(f"row {row}: pixels: expected {wanted}")
    return picture


def scale(pictures):
    """Turn whole numbers [n, SIZE, SIZE] into what the network reads: [n, 1, SIZE, SIZE]."""
    return torch.tensor(pictures, dtype=torch.float32)[:, None] / 255 - 0.5
