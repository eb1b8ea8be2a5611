"""What happens around Lightning's steps: seeds, checkpoints, the best epoch, early stopping, and the learning curve."""

import csv
import math
import time
from typing import TYPE_CHECKING, Any

import lightning as L  # noqa: N812 (its own documentation's name)
import torch
from torch.utils.data import DataLoader

from plumbline.contract import layout
from plumbline.contract.errors import TrainingError
from plumbline.contract.params import Params
from plumbline.contract.task import Learner
from plumbline.training import device, ranks
from plumbline.training.checkpoint import State, Store
from plumbline.training.progress import Progress

if TYPE_CHECKING:
    from plumbline.training.fitting import Log


class Epochs(L.LightningDataModule):  # type: ignore[misc]  # lightning is untyped to mypy here
    """A data module whose next epoch starts where `state` stands; torchrun's processes share out each batch's rows."""

    def __init__(self, data: Any, state: State) -> None:
        super().__init__()
        self.data, self.state = data, state

    def train_dataloader(self) -> "DataLoader[Any]":
        """What is left of the running epoch."""
        loader = self.data.train_dataloader()
        if hasattr(loader.batch_sampler, "set_epoch"):
            loader.batch_sampler.set_epoch(self.state.epoch)
        batches = [_share(batch) for batch in loader.batch_sampler]
        self.num_batches = len(batches)
        return DataLoader(
            loader.dataset,
            batch_sampler=batches[self.state.batch :],
            collate_fn=loader.collate_fn,
            num_workers=loader.num_workers,
            pin_memory=torch.cuda.is_available(),
        )

    def val_dataloader(self) -> Any:
        """The validation batches, the same in every process."""
        return self.data.val_dataloader()


class Loop(L.Callback):  # type: ignore[misc]
    """Everything `fit` adds to Lightning's loop."""

    def __init__(
        self,
        learner: Learner,
        params: Params,
        candidate: str,
        store: Store,
        state: State,
        log: "Log",
        report: Progress,
    ) -> None:
        self.learner, self.candidate, self.store, self.state = learner, candidate, store, state
        self.record, self.report = log, report
        self.seed, self.every = params.seed, params.training.checkpoint_every_steps
        self.seconds = 0.0  # spent on training batches alone

    def on_sanity_check_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Remember the loss before the first step."""
        self.state.initial = float(trainer.callback_metrics[self.learner.monitor])

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Put the moments of the last checkpoint in place."""
        self.store.restore(trainer.optimizers[0], _scheduler(trainer))

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Start the sums of an epoch; a NaN or infinity stays in `_sum`, `_bad` holds the first step that gave one."""
        where = pl_module.device
        self._sum = torch.tensor(
            self.state.loss, dtype=torch.float64 if where.type != "mps" else None, device=where
        )
        self._bad = torch.tensor(-1, device=where)
        self._began, self._examples = time.perf_counter(), self.state.num_examples
        self._num_batches = trainer.datamodule.num_batches

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Seed this step, so that its dropout is the same whether or not training was killed before."""
        device.seed(
            pl_module.device.type,
            (self.seed << 32) + self.state.step * ranks.world_size() + ranks.rank(),
        )

    def on_before_optimizer_step(
        self, trainer: L.Trainer, pl_module: L.LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        """Clip gradients here, since Lightning refuses to do it for a fused optimizer in mixed precision."""
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
        """Count the step, and keep it from time to time."""
        state, loss = self.state, outputs["loss"].detach()
        state.step, state.batch = state.step + 1, state.batch + 1
        state.num_examples += len(next(iter(batch.values()))) * ranks.world_size()
        self._bad = torch.where(torch.isfinite(loss) | (self._bad >= 0), self._bad, state.step)
        self._sum += loss
        due = state.step % self.every == 0 and state.batch < self._num_batches
        if due or loss.device.type == "cpu":
            self._refuse_infinite()
        self.report.step(state.batch, self._num_batches)
        if due:
            self._save(trainer, pl_module)

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Stop the clock of training."""
        if not trainer.sanity_checking:
            self._refuse_infinite()
            self._elapsed = time.perf_counter() - self._began
            self.seconds += self._elapsed

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Record the epoch, keep its weights if they are the best, stop when patience is at its end."""
        state, metrics = (
            self.state,
            {name: float(value) for name, value in trainer.callback_metrics.items()},
        )
        row = {"epoch": float(state.epoch + 1), "train/loss": state.loss / state.batch}
        row |= {name: metrics[name] for name in sorted(metrics) if name.startswith("validation/")}
        state.epoch, state.batch, state.loss = state.epoch + 1, 0, 0.0
        state.history.append(row)
        if row[self.learner.monitor] < state.best:
            state.best, state.best_epoch = row[self.learner.monitor], state.epoch
            self.store.save_best(pl_module, state.epoch)
        stop = state.epoch - state.best_epoch >= self.learner.patience
        state.finished = stop or state.epoch == self.learner.max_epochs
        trainer.should_stop = state.finished
        self._save(trainer, pl_module)
        self.store.drop_best(keep=state.best_epoch)
        self.write_history()
        self.record.metrics(
            {name: value for name, value in row.items() if name != "epoch"}, step=state.epoch
        )
        self.report.epoch(row, (state.num_examples - self._examples) / self._elapsed)
        trainer.strategy.barrier()  # the other processes read the best weights once training is over

    def write_history(self) -> None:
        """Write the learning curve so far."""
        if not ranks.is_main():
            return
        with (
            layout.written(layout.TRAINING / f"{self.candidate}.csv") as aside,
            aside.open("w", newline="") as file,
        ):
            rows = [{**row, "epoch": int(row["epoch"])} for row in self.state.history]
            table = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)

    def _save(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        self.store.save(module, trainer.optimizers[0], _scheduler(trainer), self.state)

    def _refuse_infinite(self) -> None:
        self.state.loss = float(self._sum)
        if not math.isfinite(self.state.loss):
            raise TrainingError(
                f"candidates.{self.candidate}: the loss was not finite at step {int(self._bad)}; "
                "lower learning_rate, or set training.precision to fp32"
            )


def _share(batch: list[int]) -> list[int]:
    """This process's rows of a batch; the first rows are taken twice where it cannot be divided evenly."""
    world = ranks.world_size()
    padded = batch + [batch[i % len(batch)] for i in range(-len(batch) % world)]
    return padded[ranks.rank() :: world]


def _scheduler(trainer: L.Trainer) -> Any:
    return trainer.lr_scheduler_configs[0].scheduler if trainer.lr_scheduler_configs else None
