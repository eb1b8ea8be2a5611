"""Trains a candidate by gradient; one that was killed resumes when it is run again."""

import time
from collections.abc import Callable

from plumbline.contract import trainings
from plumbline.contract.durations import format_duration
from plumbline.contract.errors import TrainingError
from plumbline.contract.params import Params
from plumbline.contract.records import Learner
from plumbline.contract.steps import announce
from plumbline.process import ranks
from plumbline.process.files import write_json
from plumbline.training import group
from plumbline.training.checkpoint import CheckpointStore, TrainingState
from plumbline.training.hardware import Hardware, choose_device, choose_hardware
from plumbline.training.loop import TrainingLoop

# The share by which training must lower the monitored loss, so that it counts as learning.
MIN_GAIN = 1e-3


def fit(
    learner: Learner,
    params: Params,
    candidate: str,
    *,
    must_learn: bool = True,
    on_epoch: Callable[[], None] | None = None,
) -> Hardware:
    """Train `learner`, leave its best weights in it, and write reports/training/<candidate>.csv.

    `on_epoch` is called when that has another epoch. Return what it was trained on.
    Of processes that train together, the first one alone has the best ones in the end.

    Raises TrainingError for a loss that is not finite and, if it `must_learn`, if nothing was
    learned.
    """
    device = choose_device(params.training.device)
    group.join(device)
    store = CheckpointStore.open(params, candidate)
    state = store.load(learner.module)
    hardware = group.broadcast(choose_hardware(params.training, state.precision))
    state.precision = hardware.precision
    loop = TrainingLoop(learner, params, candidate, store, state, hardware, on_epoch)
    if not state.finished:
        announce(f"fits {candidate}")
        start = time.perf_counter()
        num_examples_before = state.num_examples
        loop.run()
        seconds = time.perf_counter() - start
        rate = (state.num_examples - num_examples_before) / loop.seconds
        figures = {"train/seconds": seconds, "train/samples_per_second": rate}
        if ranks.is_main():
            write_json(trainings.locate_speed(candidate), figures)
            spent = f"{rate:,.0f}/s, {format_duration(seconds)}"
            end = describe_end(state, learner.max_epochs, spent)
            print(f"{candidate}: {end}", flush=True)  # noqa: T201 (human output)
    if must_learn:
        _check_learned(state, candidate, learner.monitor)
    loop.write_history()
    learner.module.cpu()
    store.load_best(learner.module, state.best_epoch)
    return hardware


def describe_end(state: TrainingState, max_epochs: int, spent: str) -> str:
    """Describe the last epoch of a training, what it took, and which epoch is kept and why."""
    row = state.history[-1]
    figures = (f"{name} {value:.4f}" for name, value in row.items() if name != trainings.EPOCH)
    words = [spent]
    if state.epoch < max_epochs:
        words.append("stopped early, as the loss on validation no longer fell")
    if state.best_epoch < state.epoch:
        words.append(f"keeps epoch {state.best_epoch}")
    return "  ".join([f"epoch {state.epoch}/{max_epochs}", *figures, "; ".join(words)])


def _check_learned(state: TrainingState, candidate: str, monitor: str) -> None:
    if state.best > state.initial - MIN_GAIN * abs(state.initial):
        raise TrainingError(
            f"candidates.{candidate}: nothing was learned: {monitor} was {state.initial:.4f} "
            f"before training and {state.best:.4f} at its best; check the labels, then "
            "learning_rate and max_epochs"
        )
