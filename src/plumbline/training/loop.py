"""What happens around Lightning's steps.

Seeds, checkpoints, the best epoch, early stopping, and the learning curve.
"""

import csv
import math
import time
from typing import Any

import lightning as L  # noqa: N812 (its own documentation's name)
import torch

from plumbline.contract import layout, ranks, trainings
from plumbline.contract.errors import TrainingError
from plumbline.contract.params import Params
from plumbline.contract.records import Learner
from plumbline.training import group, hardware
from plumbline.training.checkpoint import CheckpointStore, TrainingState
from plumbline.training.log import TrainingLog
from plumbline.training.progress import Progress


class TrainingLoop(L.Callback):  # type: ignore[misc]  # lightning is untyped to mypy here
    """Everything that `fit` adds to Lightning's loop."""

    def __init__(
        self,
        learner: Learner,
        params: Params,
        candidate: str,
        store: CheckpointStore,
        state: TrainingState,
        log: TrainingLog,
        progress: Progress,
    ) -> None:
        self.learner = learner
        self.candidate = candidate
        self.store = store
        self.state = state
        self.training_log = log
        self.progress = progress
        self.seed = params.seed
        self.checkpoint_every = params.training.checkpoint_every_steps
        self.seconds = 0.0  # spent on training batches alone

    def on_sanity_check_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Remember the loss before the first step."""
        self.state.initial = group.broadcast(_average_validation(trainer)[self.learner.monitor])

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Restore the optimizer of the last checkpoint."""
        group.fix_order_of_sums(trainer.model)
        self.store.restore(trainer.optimizers[0], _get_scheduler(trainer))

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Start the sums of an epoch.

        A NaN or infinity stays in `_sum`; `_bad_step` holds the first step that gave one, or -1.
        """
        device = pl_module.device
        precision = None if device.type == "mps" else torch.float64
        self._sum = torch.tensor(self.state.loss, dtype=precision, device=device)
        self._bad_step = torch.tensor(-1, device=device)
        self._start = time.perf_counter()
        self._num_examples_at_start = self.state.num_examples
        self._num_batches = trainer.datamodule.num_batches

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Seed this step, so that a resumed training draws the same dropout as any other."""
        step = self.state.step * ranks.get_world_size() + ranks.get_rank()
        hardware.seed_generators(pl_module.device.type, (self.seed << 32) + step)

    def on_before_optimizer_step(
        self, trainer: L.Trainer, pl_module: L.LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        """Clip gradients; Lightning refuses to do so for a fused optimizer in mixed precision."""
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        torch.nn.utils.clip_grad_norm_(weights, self.learner.gradient_clip)

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Count the step, and write a checkpoint every few steps."""
        state = self.state
        loss = outputs["loss"].detach()
        state.step += 1
        state.batch += 1
        state.num_examples += _count_rows(batch) * ranks.get_world_size()
        is_sound = torch.isfinite(loss) | (self._bad_step >= 0)
        self._bad_step = torch.where(is_sound, self._bad_step, state.step)
        self._sum += loss
        is_due = state.step % self.checkpoint_every == 0 and state.batch < self._num_batches
        if is_due or loss.device.type == "cpu":
            self._check_loss_is_finite()
        self.progress.on_step(state.batch, self._num_batches)
        if is_due:
            self._save_checkpoint(trainer, pl_module)

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop the clock of training."""
        if not trainer.sanity_checking:
            self._check_loss_is_finite()
            self._elapsed = time.perf_counter() - self._start
            self.seconds += self._elapsed

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Record the epoch, keep the best weights, and stop if patience is at its end."""
        state = self.state
        # Machines differ in the last bits: all processes decide by the figures of the first one.
        row = group.broadcast(self._finish_epoch(trainer))
        state.history.append(row)
        if row[self.learner.monitor] < state.best:
            state.best = row[self.learner.monitor]
            state.best_epoch = state.epoch
            self.store.save_best(pl_module, state.epoch)
        is_out_of_patience = self._count_stale_epochs() >= self.learner.patience
        state.finished = is_out_of_patience or state.epoch == self.learner.max_epochs
        trainer.should_stop = state.finished
        self._save_checkpoint(trainer, pl_module)
        self.store.drop_best(keep=state.best_epoch)
        self.write_history()
        figures = {name: value for name, value in row.items() if name != "epoch"}
        self.training_log.log_metrics(figures, step=state.epoch)
        num_examples = state.num_examples - self._num_examples_at_start
        self.progress.on_epoch(row, num_examples / self._elapsed)

    def write_history(self) -> None:
        """Write the learning curve so far."""
        if not ranks.is_main():
            return
        path = trainings.locate_curve(self.candidate)
        with layout.write_aside(path) as aside, aside.open("w", newline="") as file:
            rows = [{**row, "epoch": int(row["epoch"])} for row in self.state.history]
            table = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)

    def _count_stale_epochs(self) -> int:
        """Return how many epochs there were since the loss last fell by the learner's share.

        The best weights may be of a later epoch: that one was better, by less.
        """
        reference = math.inf
        num_stale = 0
        for row in self.state.history:
            num_stale += 1
            loss = row[self.learner.monitor]
            if loss < reference - self.learner.min_gain * abs(loss):
                reference = loss
                num_stale = 0
        return num_stale

    def _finish_epoch(self, trainer: L.Trainer) -> dict[str, float]:
        """Return the figures of the epoch, and count it."""
        state = self.state
        row = {"epoch": float(state.epoch + 1), "train/loss": state.loss / state.batch}
        row |= _average_validation(trainer)
        state.epoch += 1
        state.batch = 0
        state.loss = 0.0
        return row

    def _save_checkpoint(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        self.store.save(module, trainer.optimizers[0], _get_scheduler(trainer), self.state)

    def _check_loss_is_finite(self) -> None:
        self.state.loss = float(self._sum)
        if not math.isfinite(self.state.loss):
            raise TrainingError(
                f"candidates.{self.candidate}: the loss was not finite at step "
                f"{int(self._bad_step)}; lower learning_rate, or set training.precision to fp32"
            )


def _average_validation(trainer: L.Trainer) -> dict[str, float]:
    """Return the means over all rows of validation, of which each process had its own."""
    means = {}
    for name in sorted(trainer.callback_metrics):
        if name.startswith("validation/"):
            means[name] = float(trainer.callback_metrics[name])
    shares = group.gather((trainer.datamodule.num_validation_rows, means))
    num_rows = sum(own_rows for own_rows, _ in shares)
    return {
        name: sum(own_rows / num_rows * own[name] for own_rows, own in shares) for name in means
    }


def _count_rows(batch: dict[str, torch.Tensor]) -> int:
    """Return the number of rows of a batch, a mapping of tensors [rows, ...]."""
    for tensor in batch.values():
        return len(tensor)
    raise ValueError("a batch has no tensors")


def _get_scheduler(trainer: L.Trainer) -> Any:
    configs = trainer.lr_scheduler_configs
    return configs[0].scheduler if configs else None
