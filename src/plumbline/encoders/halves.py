"""The loss of a batch whose halves are computed at once, each by one thread.

Where an operator has all cores, its threads wait for the last at each of some thousand operators;
a program that keeps one core busy then halves the speed. Halves wait once a step.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

Batch = dict[str, torch.Tensor]

NUM_HALVES = 2  # whatever the number of cores, on which a result may not depend

# They stay, so that what one step frees is there for the next.
_THREADS = ThreadPoolExecutor(NUM_HALVES)
_thread = threading.local()


def get_generator() -> torch.Generator | None:
    """Return the generator of the half that this thread computes; elsewhere None, the default."""
    generator: torch.Generator | None = getattr(_thread, "generator", None)
    return generator


def compute_in_halves(
    compute_loss: Callable[[Batch], torch.Tensor], weights: Sequence[torch.Tensor], batch: Batch
) -> torch.Tensor:
    """Return the mean loss of a batch on the CPU; its gradients of `weights` are computed here.

    They are added in the order of the halves, each of which draws from a generator that the default
    one seeds: nothing depends on timing.
    """
    seeds = torch.randint(2**62, (NUM_HALVES,)).tolist()
    num_rows = len(batch["labels"])
    num_cores = torch.get_num_threads()
    has_autocast, dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")

    def derive(half: Batch, seed: int) -> tuple[float, torch.Tensor, Sequence[torch.Tensor]]:
        torch.set_num_threads(max(1, num_cores // NUM_HALVES))  # of operators that this one calls
        _thread.generator = torch.Generator().manual_seed(seed)
        with torch.autocast("cpu", dtype, enabled=has_autocast, cache_enabled=False):
            loss = compute_loss(half)
        gradients = torch.autograd.grad(loss, weights, materialize_grads=True)
        return len(half["labels"]) / num_rows, loss.detach(), gradients

    try:
        halves = zip(*_THREADS.map(derive, _cut_in_halves(batch), seeds), strict=True)
    finally:
        torch.set_num_threads(num_cores)  # also of threads that start from now on
    loss: torch.Tensor = _MeanLoss.apply(*halves, *weights)  # type: ignore[no-untyped-call]
    return loss


def _cut_in_halves(batch: Batch) -> Iterator[Batch]:
    """Yield the halves of a batch, each as wide as its own longest text; a single row is whole."""
    num_rows = len(batch["labels"])
    size = -(-num_rows // NUM_HALVES)
    for start in range(0, num_rows, size):
        half = {name: tensor[start : start + size] for name, tensor in batch.items()}
        width = int(half["attention_mask"].sum(1).max())
        for name in ("input_ids", "attention_mask"):
            half[name] = half[name][:, :width]
        yield half


class _MeanLoss(torch.autograd.Function):
    """The mean of losses whose gradients are known, each by its share of the rows."""

    @staticmethod
    def forward(ctx: Any, shares: Any, losses: Any, gradients: Any, *_: torch.Tensor) -> Any:
        ctx.shares, ctx.gradients = shares, gradients
        return _add(losses, shares)

    @staticmethod
    def backward(ctx: Any, scale: torch.Tensor) -> tuple[Any, ...]:
        means = [_add(each, ctx.shares).mul_(scale) for each in zip(*ctx.gradients, strict=True)]
        return None, None, None, *means


def _add(tensors: Sequence[torch.Tensor], shares: Sequence[float]) -> torch.Tensor:
    total = tensors[0] * shares[0]
    for tensor, share in zip(tensors[1:], shares[1:], strict=True):
        total.add_(tensor, alpha=share)
    return total
