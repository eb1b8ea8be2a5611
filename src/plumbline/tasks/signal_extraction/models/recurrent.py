"""The recurrent candidates: window, stateful and film."""

import os
from pathlib import Path

import torch

from plumbline.contract.errors import TrainingError
from plumbline.contract.records import Learner
from plumbline.tasks.signal_extraction.data import Windows
from plumbline.tasks.signal_extraction.models.batches import Batches
from plumbline.tasks.signal_extraction.models.export import save_network
from plumbline.tasks.signal_extraction.models.extractor import Extractor
from plumbline.tasks.signal_extraction.models.networks import (
    FilmLstm,
    Network,
    StatefulLstm,
    WindowLstm,
)
from plumbline.tasks.signal_extraction.params import RecurrentConfig, StatefulConfig

NUM_COMPARED = 64  # windows on which the exported graph must answer as the network
NETWORKS: dict[str, type[Network]] = {
    "stateful": StatefulLstm,
    "window": WindowLstm,
    "film": FilmLstm,
}


def build_recurrent_learner(
    config: RecurrentConfig, candidate: str, seed: int, train: Windows, validation: Windows
) -> Learner:
    """Return an LSTM with random weights and its batches.

    Raises TrainingError if several processes would share a state.
    """
    chunk, num_carried = train.setting.window, 0
    if isinstance(config, StatefulConfig):
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise TrainingError(
                f"candidates.{candidate}: a carried state belongs to one process; "
                "train it without torchrun"
            )
        chunk = config.chunk
    data = Batches(train, validation, config, chunk, seed)
    if isinstance(config, StatefulConfig):
        num_carried = data.sampler.batch
    torch.manual_seed(seed)
    num_frequencies = len(train.setting.frequencies_hz)
    network_class = NETWORKS[config.kind]
    model = network_class(num_frequencies, config.hidden, config.layers, config.dropout)
    num_steps = len(data.sampler) * config.max_epochs
    module = Extractor(model, config, num_steps, num_carried)

    def save(folder: Path) -> None:
        save_network(folder, module.model, train.setting, validation.signals[:NUM_COMPARED])

    return Learner(
        save=save,
        module=module,
        data=data,
        max_epochs=config.max_epochs,
        patience=config.patience,
        gradient_clip=config.gradient_clip,
    )
