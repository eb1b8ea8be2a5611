"""How the network learns, and what it saves."""

import json

import numpy as np
import torch
from safetensors.torch import save_file

from plumbline.contract.epoch_batches import EpochBatches, EpochSampler
from plumbline.contract.records import Learner
from shapes.data import SHAPES, read_split
from shapes.predictor import Network, scale


class Pictures(torch.utils.data.Dataset):
    """The rows of a split; it answers a list of rows at once."""

    def __init__(self, examples, split):
        pictures, labels = read_split(examples, split)
        self._pictures = scale(pictures)
        self._labels = torch.tensor([SHAPES.index(label) for label in labels])

    def __len__(self):
        return len(self._labels)

    def __getitems__(self, rows):
        return {"pictures": self._pictures[rows], "labels": self._labels[rows]}


class LearningNetwork(Network):
    """The network of the predictor, with what training asks for."""

    def __init__(self, channels, learning_rate):
        super().__init__(channels, len(SHAPES))
        self._learning_rate = learning_rate

    def training_step(self, batch):
        return torch.nn.functional.cross_entropy(self(batch["pictures"]), batch["labels"])

    def validation_step(self, batch):
        logits, labels = self(batch["pictures"]), batch["labels"]
        return {"loss": torch.nn.functional.cross_entropy(logits, labels, reduction="sum")}

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), self._learning_rate), None


def compare_export(params, candidate, folder, columns):
    return []  # the predictor reads the weights themselves


def build_learner(params, candidate, examples):
    config = params.candidates[candidate]
    torch.manual_seed(params.seed)
    network = LearningNetwork(config.channels, config.learning_rate)
    train, validation = Pictures(examples, "train"), Pictures(examples, "validation")

    def begin_epoch(epoch):
        return np.random.default_rng((params.seed, epoch)).permutation(len(train)).tolist()

    def save(folder):
        weights = {name: value.cpu().contiguous() for name, value in network.state_dict().items()}
        save_file(weights, folder / "model.safetensors")
        (folder / "model.json").write_text(json.dumps([config.channels, SHAPES]))

    return Learner(
        save,
        module=network,
        data=EpochBatches(train, EpochSampler(config.batch_size, begin_epoch), validation, 256),
        max_epochs=config.max_epochs,
        patience=config.patience,
    )
