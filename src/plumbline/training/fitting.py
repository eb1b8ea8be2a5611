"""Trains a candidate by gradient, the only place that builds a lightning Trainer; killed and run again, it goes on.

Batches follow from (seed, epoch) and dropout from (seed, step), so no generator state is kept.
"""

import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import lightning as L  # noqa: N812 (its own documentation's name)
from lightning.pytorch.utilities.warnings import PossibleUserWarning

from plumbline.contract import layout
from plumbline.contract.errors import TrainingError
from plumbline.contract.params import Params
from plumbline.contract.task import Learner
from plumbline.training import checkpoint, device, ranks
from plumbline.training.loop import Epochs, Loop
from plumbline.training.progress import progress

MIN_GAIN = 1e-3  # the share by which training must lower the monitored loss to count as learning


class Log(Protocol):
    """Where figures of a run go; no method raises."""

    def params(self, values: dict[str, object]) -> None:
        """Record how the run was set up."""

    def metrics(self, values: dict[str, float], step: int) -> None:
        """Record figures at an epoch."""

    def tag(self, key: str, value: str) -> None:
        """Record one fact about the run."""


def fit(
    learner: Learner, params: Params, candidate: str, log: Log, *, must_learn: bool = True
) -> None:
    """Train `learner`, leave its best weights in place, and write reports/training/<candidate>.csv.

    Raises TrainingError for a loss that is not finite and, if it `must_learn`, where nothing was learned.
    """
    store = checkpoint.Store.open(params, candidate)
    state = store.load(learner.module)
    machine = device.choose(params.training, state.precision)
    state.precision = machine.precision
    log.params(
        {"device": machine.device, "precision": machine.precision, "processes": ranks.world_size()}
    )
    report = progress(candidate, learner.max_epochs)
    loop = Loop(learner, params, candidate, store, state, log, report)
    if not state.finished:
        began, before = time.perf_counter(), state.num_examples
        with _quiet(), report:
            _trainer(learner, params, machine, loop).fit(
                learner.module, datamodule=Epochs(learner.data, state)
            )
        seconds = time.perf_counter() - began
        rate = (state.num_examples - before) / loop.seconds
        log.metrics({"train/seconds": seconds, "train/samples_per_second": rate}, step=state.epoch)
    if must_learn:
        _refuse_idle(state, candidate, learner.monitor)
    loop.write_history()
    store.load_best(learner.module, state.best_epoch)


def clean(candidate: str) -> None:
    """Remove the checkpoints of `candidate`, once its bundle is published."""
    if ranks.is_main():
        checkpoint.remove(layout.CHECKPOINTS, candidate, keep=None)


def _trainer(learner: Learner, params: Params, machine: device.Machine, loop: Loop) -> L.Trainer:
    if machine.compiled:
        learner.module.compile(dynamic=True)
    return L.Trainer(
        accelerator=machine.device,
        devices=ranks.local_world(),
        num_nodes=ranks.num_nodes(),
        strategy="ddp" if ranks.world_size() > 1 else "auto",
        precision="bf16-mixed" if machine.precision == "bf16" else "32-true",
        max_epochs=learner.max_epochs - loop.state.epoch,
        num_sanity_val_steps=0
        if loop.state.step
        else -1,  # the loss before the first step, to tell learning by
        reload_dataloaders_every_n_epochs=1,
        use_distributed_sampler=False,
        callbacks=[loop],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Lightning's advice about settings that are chosen here from the user."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=PossibleUserWarning)
        warnings.filterwarnings(
            "ignore", message=".*LeafSpec", category=FutureWarning
        )  # Lightning on torch 2.13
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def _refuse_idle(state: checkpoint.State, candidate: str, monitor: str) -> None:
    if state.best > state.initial - MIN_GAIN * abs(state.initial):
        raise TrainingError(
            f"candidates.{candidate}: nothing was learned: {monitor} was {state.initial:.4f} before training "
            f"and {state.best:.4f} at its best; look at the labels, then at learning_rate and max_epochs"
        )
