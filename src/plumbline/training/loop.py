"""The loop that trains: steps, validation, checkpoints, the best epoch, and the learning curve.

Batches follow from (seed, epoch) and dropout from (seed, step), so a training that was killed goes
on as if nothing had happened, and no generator state is kept.
"""

import csv
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from plumbline.contract import trainings
from plumbline.contract.errors import TrainingError
from plumbline.contract.params import Params
from plumbline.contract.records import Learner
from plumbline.contract.steps import show_share
from plumbline.process import ranks
from plumbline.process.files import write_aside
from plumbline.training import group, hardware
from plumbline.training.checkpoint import CheckpointStore, TrainingState
from plumbline.training.hardware import Hardware
from plumbline.training.shared_batches import SharedBatches

MAX_SAVING = 0.05  # share of the time that checkpoints within an epoch may take


class TrainingLoop:
    """Trains the learner's module from where `state` is."""

    def __init__(
        self,
        learner: Learner,
        params: Params,
        candidate: str,
        store: CheckpointStore,
        state: TrainingState,
        chosen: Hardware,
        on_epoch: Callable[[], None] | None = None,
    ) -> None:
        self.learner = learner
        self.module = learner.module
        self.candidate = candidate
        self.store = store
        self.state = state
        self.on_epoch = on_epoch
        self.hardware = chosen
        self.device = group.get_own_device(chosen.device)
        self.batches = SharedBatches(learner.data, state)
        self.seed = params.seed
        self.checkpoint_every = params.training.checkpoint_every_steps
        self.seconds = 0.0  # spent on training batches alone
        self.next_save = 0.0  # not within an epoch before this time

    def run(self) -> None:
        """Train to the last epoch, or until patience is at its end."""
        self.module.to(self.device).train()
        if self.device.type == "cuda":
            # cuDNN compiles its attention for each length of a batch, which takes a second.
            torch.backends.cuda.enable_cudnn_sdp(False)
        compute_loss = self.module.training_step
        if ranks.get_world_size() > 1:
            compute_loss = group.average_gradients(self.module, self.device)
        self.optimizer, self.schedule = self.module.configure_optimizers()
        self.store.restore(self.optimizer, self.schedule)
        validation = self.batches.list_validation()
        if not self.state.step:
            self.state.initial = group.broadcast(self._validate(validation)[self.learner.monitor])
        while not self.state.finished:
            self._train_epoch(compute_loss)
            self._finish_epoch(self._validate(validation))

    def take_step(self, compute_loss: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Change the weights by the gradient of one batch; return its loss."""
        with self._choose_numbers():
            loss: torch.Tensor = compute_loss(batch)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no types here
        weights = [weight for each in self.optimizer.param_groups for weight in each["params"]]
        torch.nn.utils.clip_grad_norm_(weights, self.learner.gradient_clip)
        self.optimizer.step()
        if self.schedule:
            self.schedule.step()
        return loss.detach()

    def write_history(self) -> None:
        """Write the learning curve so far."""
        if not ranks.is_main():
            return
        path = trainings.locate_curve(self.candidate)
        with write_aside(path) as aside, aside.open("w", newline="") as file:
            rows = [{**row, "epoch": int(row["epoch"])} for row in self.state.history]
            table = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)

    def _train_epoch(self, compute_loss: Any) -> None:
        """Take the steps that are left of the epoch.

        A NaN or infinity stays in `_sum`; `_bad_step` holds the first step that gave one, or -1.
        """
        precision = None if self.device.type == "mps" else torch.float64
        self._sum = torch.tensor(self.state.loss, dtype=precision, device=self.device)
        self._bad_step = torch.tensor(-1, device=self.device)
        start = time.perf_counter()
        loader = self.batches.list_train()
        for batch in loader:
            # Seeded at each step, a resumed training draws the same dropout as any other.
            number = self.state.step * ranks.get_world_size() + ranks.get_rank()
            hardware.seed_generators(self.device.type, (self.seed << 32) + number)
            own = self._move(batch)
            self._count_step(self.take_step(compute_loss, own), _count_rows(own))
        self._check_loss_is_finite()
        self.seconds += time.perf_counter() - start

    def _count_step(self, loss: torch.Tensor, num_rows: int) -> None:
        """Count the step, and write a checkpoint every few steps."""
        state = self.state
        state.step += 1
        state.batch += 1
        state.num_examples += num_rows * ranks.get_world_size()
        is_sound = torch.isfinite(loss) | (self._bad_step >= 0)
        self._bad_step = torch.where(is_sound, self._bad_step, state.step)
        self._sum += loss
        num_batches = self.batches.num_batches
        is_due = state.step % self.checkpoint_every == 0 and state.batch < num_batches
        is_due = is_due and time.monotonic() >= self.next_save
        if is_due or self.device.type == "cpu":
            self._check_loss_is_finite()
        max_epochs = self.learner.max_epochs
        share = (state.epoch + state.batch / num_batches) / max_epochs
        show_share(f"epoch {state.epoch + 1}/{max_epochs}", share)
        if is_due:
            begin = time.monotonic()
            self.store.save(self.module, self.optimizer, self.schedule, state)
            end = time.monotonic()
            self.next_save = end + (end - begin) / MAX_SAVING

    def _validate(self, loader: Any) -> dict[str, float]:
        """Return the means over all rows of validation, of which each process has its own."""
        sums: dict[str, torch.Tensor] = {}
        self.module.eval()
        with torch.no_grad(), self._choose_numbers():
            for batch in loader:
                for name, value in self.module.validation_step(self._move(batch)).items():
                    sums[name] = sums[name] + value if name in sums else value
        self.module.train()
        num_own = self.batches.num_validation_rows
        own_means = {name: float(total / num_own) for name, total in sums.items()}
        shares = [share for share in group.gather((num_own, own_means)) if share[0]]
        num_rows = sum(rows for rows, _ in shares)
        return {
            f"validation/{name}": sum(rows / num_rows * means[name] for rows, means in shares)
            for name in sorted(shares[0][1] if shares else ())
        }

    def _finish_epoch(self, figures: dict[str, float]) -> None:
        """Record the epoch, keep the best weights, and stop if patience is at its end."""
        state = self.state
        row = {"epoch": float(state.epoch + 1), "train/loss": state.loss / state.batch, **figures}
        # Machines differ in the last bits: all processes decide by the figures of the first one.
        row = group.broadcast(row)
        state.epoch += 1
        state.batch = 0
        state.loss = 0.0
        state.history.append(row)
        if row[self.learner.monitor] < state.best:
            state.best = row[self.learner.monitor]
            state.best_epoch = state.epoch
            self.store.save_best(self.module, state.epoch)
        is_out_of_patience = self._count_stale_epochs() >= self.learner.patience
        state.finished = is_out_of_patience or state.epoch == self.learner.max_epochs
        self.store.save(self.module, self.optimizer, self.schedule, state)
        self.store.drop_best(keep=state.best_epoch)
        self.write_history()
        if self.on_epoch:
            self.on_epoch()

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

    def _check_loss_is_finite(self) -> None:
        self.state.loss = float(self._sum)
        if not math.isfinite(self.state.loss):
            raise TrainingError(
                f"candidates.{self.candidate}: the loss was not finite at step "
                f"{int(self._bad_step)}; lower learning_rate, or set training.precision to fp32"
            )

    def _choose_numbers(self) -> AbstractContextManager[Any]:
        """Compute in bf16 where that was chosen: products, not what is sensitive to rounding."""
        is_on = self.hardware.precision == "bf16"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=is_on, cache_enabled=False)

    def _move(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {name: tensor.to(self.device, non_blocking=True) for name, tensor in batch.items()}


def _count_rows(batch: dict[str, torch.Tensor]) -> int:
    """Return the number of rows of a batch, a mapping of tensors [rows, ...]."""
    for tensor in batch.values():
        return len(tensor)
    raise ValueError("a batch has no tensors")
