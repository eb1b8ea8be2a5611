"""Trains a candidate by gradient, the only place that builds a lightning Trainer.

A training that was killed resumes when it is run again. Batches follow from (seed, epoch) and
dropout from (seed, step), so no generator state is kept.
"""

import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lightning as L  # noqa: N812 (its own documentation's name)
from lightning.pytorch.utilities.warnings import PossibleUserWarning

from plumbline.contract import ranks
from plumbline.contract.errors import TrainingError
from plumbline.contract.params import Params
from plumbline.contract.records import Learner
from plumbline.training import group, sharding
from plumbline.training.checkpoint import CheckpointStore, TrainingState
from plumbline.training.hardware import Device, Hardware, choose_device, choose_hardware
from plumbline.training.log import TrainingLog
from plumbline.training.loop import TrainingLoop
from plumbline.training.progress import choose_progress
from plumbline.training.resumable_data import ResumableDataModule

# The share by which training must lower the monitored loss, so that it counts as learning.
MIN_GAIN = 1e-3


@group.explain_lost_process()
def fit(
    learner: Learner, params: Params, candidate: str, log: TrainingLog, *, must_learn: bool = True
) -> None:
    """Train `learner`, leave its best weights in it, and write reports/training/<candidate>.csv.

    Where processes share its weights, the first one alone has the best ones in the end.

    Raises TrainingError for a loss that is not finite and, if it `must_learn`, if nothing was
    learned.
    """
    device = choose_device(params.training.device)
    group.join(device)
    store = CheckpointStore.open(params, candidate)
    is_sharded = sharding.is_sharded(learner)
    module = sharding.shard_module(learner, device) if is_sharded else learner.module
    state = store.load(module)
    hardware = group.broadcast(choose_hardware(params.training, state.precision))
    state.precision = hardware.precision
    log.log_params(
        {
            "device": hardware.device,
            "precision": hardware.precision,
            "processes": ranks.get_world_size(),
        }
    )
    progress = choose_progress(candidate, learner.max_epochs, state.epoch)
    loop = TrainingLoop(learner, params, candidate, store, state, log, progress)
    if not state.finished:
        start = time.perf_counter()
        num_examples_before = state.num_examples
        with _silence_lightning(), progress:
            data = ResumableDataModule(learner.data, state)
            if hardware.compiled and not is_sharded:
                module.compile(dynamic=True)
            strategy = _choose_strategy(hardware.device, is_sharded=is_sharded)
            _build_trainer(learner, hardware, loop, strategy).fit(module, datamodule=data)
        seconds = time.perf_counter() - start
        rate = (state.num_examples - num_examples_before) / loop.seconds
        figures = {"train/seconds": seconds, "train/samples_per_second": rate}
        log.log_metrics(figures, step=state.epoch)
    if must_learn:
        _check_learned(state, candidate, learner.monitor)
    loop.write_history()
    store.load_best(learner.module, state.best_epoch, only_first=is_sharded)


def _choose_strategy(device: Device, *, is_sharded: bool) -> dict[str, Any]:
    """Return the options of Lightning's Trainer by which processes train together."""
    if is_sharded:
        own = f"cuda:{ranks.get_local_rank()}" if device == "cuda" else device
        # What inference_mode computes cannot be trained with afterwards: weights put together.
        return {"strategy": sharding.ShardedStrategy(own), "inference_mode": False}
    if ranks.get_world_size() == 1:
        return {"devices": 1}
    return {
        "strategy": "ddp",
        "devices": ranks.get_local_world_size(),
        "plugins": [group.LaunchedEnvironment()],
    }


def _build_trainer(
    learner: Learner, hardware: Hardware, loop: TrainingLoop, strategy: dict[str, Any]
) -> L.Trainer:
    return L.Trainer(
        **strategy,
        accelerator=hardware.device,
        precision="bf16-mixed" if hardware.precision == "bf16" else "32-true",
        max_epochs=learner.max_epochs - loop.state.epoch,
        # The loss before the first step shows whether anything is learned.
        num_sanity_val_steps=0 if loop.state.step else -1,
        reload_dataloaders_every_n_epochs=1,
        use_distributed_sampler=False,
        callbacks=[loop],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


@contextmanager
def _silence_lightning() -> Iterator[None]:
    """Hide Lightning's advice about settings that are chosen on purpose."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=PossibleUserWarning)
        # Lightning on torch 2.13.
        warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def _check_learned(state: TrainingState, candidate: str, monitor: str) -> None:
    if state.best > state.initial - MIN_GAIN * abs(state.initial):
        raise TrainingError(
            f"candidates.{candidate}: nothing was learned: {monitor} was {state.initial:.4f} "
            f"before training and {state.best:.4f} at its best; check the labels, then "
            "learning_rate and max_epochs"
        )
