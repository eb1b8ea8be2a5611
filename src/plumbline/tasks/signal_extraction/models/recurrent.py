"""The recurrent candidates: window, stateful and film."""

import os
from pathlib import Path

import torch

from plumbline.contract.errors import TrainingError
from plumbline.contract.task import Learner
from plumbline.tasks.signal_extraction.data import Windows
from plumbline.tasks.signal_extraction.models.batches import Batches
from plumbline.tasks.signal_extraction.models.export import save
from plumbline.tasks.signal_extraction.models.extractor import Extractor
from plumbline.tasks.signal_extraction.models.networks import Conditioned, Film, Heads, Network
from plumbline.tasks.signal_extraction.params import Recurrent, Stateful

NETWORKS: dict[str, type[Network]] = {"stateful": Conditioned, "window": Heads, "film": Film}


def recurrent(
    shape: Recurrent, candidate: str, seed: int, train: Windows, validation: Windows
) -> Learner:
    """An LSTM with random weights and its batches; TrainingError where several processes would share a state."""
    carries = isinstance(shape, Stateful)
    chunk = shape.chunk if isinstance(shape, Stateful) else train.setting.window
    if carries and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise TrainingError(
            f"candidates.{candidate}: a carried state belongs to one process; train it without torchrun"
        )
    data = Batches(train, validation, shape, chunk, seed)
    torch.manual_seed(seed)
    model = NETWORKS[shape.kind](
        len(train.setting.frequencies_hz), shape.hidden, shape.layers, shape.dropout
    )
    num_steps = len(data.sampler) * shape.max_epochs
    module = Extractor(model, shape, num_steps, carried=data.sampler.batch if carries else 0)

    def write(folder: Path) -> None:
        save(folder, module.model, train.setting, validation.signals[:64])

    return Learner(
        save=write,
        module=module,
        data=data,
        max_epochs=shape.max_epochs,
        patience=shape.patience,
        gradient_clip=shape.gradient_clip,
    )
