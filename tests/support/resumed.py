"""A training that is killed and resumed, beside one that is not: the same weights, bit for bit."""

from pathlib import Path
from typing import Any

import torch

from plumbline.training.checkpoint import CheckpointStore, TrainingState


def check_resumed(
    whole: Any, first: Any, second: Any, folder: Path, *, stop: int, end: int
) -> None:
    """Train `whole` for `end` steps; `first` until `stop`, from where `second` goes on."""
    optimizers = [x.module.configure_optimizers()[0] for x in (whole, first, second)]
    _take(whole, optimizers[0], range(end))
    _take(first, optimizers[1], range(stop))
    CheckpointStore(folder).save(first.module, optimizers[1], None, TrainingState(step=stop))
    again = CheckpointStore(folder)
    again.load(second.module)
    again.restore(optimizers[2], None)
    _take(second, optimizers[2], range(stop, end))
    expected = whole.module.state_dict()
    for key, tensor in second.module.state_dict().items():
        assert torch.equal(tensor, expected[key]), key


def _take(learner: Any, optimizer: Any, steps: range) -> None:
    learner.data.sampler.set_epoch(0)
    batches = list(learner.data.train_dataloader())
    for step in steps:
        torch.manual_seed(step)
        optimizer.zero_grad()
        learner.module.training_step(batches[step]).backward()
        optimizer.step()
