"""Schedules of the learning rate, for candidates that learn by gradient.

Each returns the optimizer and its schedule as `Learner` takes them. The rate rises in a line during
`num_warmup` steps, and is 0 from step `num_steps` on; steps are counted from 0.

The two warmups differ, and stay so: another one would change the weights of every candidate that
uses it. The linear schedule has the full rate in the last step of its warmup, the cosine in the
step after it, and its `num_warmup` need not be a whole number.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LambdaLR


def decay_by_cosine(
    optimizer: "Optimizer", num_steps: int, num_warmup: float = 0.0
) -> tuple["Optimizer", "LambdaLR"]:
    """Let the rate fall by half a cosine after the warmup.

    Source: Loshchilov and Hutter, SGDR, 2017, without restarts.
    """

    def compute_share(step: int) -> float:
        if step >= num_steps:
            return 0.0
        if step < num_warmup:
            return (step + 1) / (num_warmup + 1)
        return (1 + math.cos(math.pi * (step - num_warmup) / (num_steps - num_warmup))) / 2

    return _set_each_step(optimizer, compute_share)


def decay_linearly(
    optimizer: "Optimizer", num_steps: int, num_warmup: int
) -> tuple["Optimizer", "LambdaLR"]:
    """Let the rate fall in a line after the warmup."""

    def compute_share(step: int) -> float:
        if step >= num_steps:
            return 0.0
        if step < num_warmup:
            return (step + 1) / num_warmup
        return (num_steps - step) / (num_steps - num_warmup)

    return _set_each_step(optimizer, compute_share)


def _set_each_step(
    optimizer: "Optimizer", compute_share: Callable[[int], float]
) -> tuple["Optimizer", "LambdaLR"]:
    from torch.optim.lr_scheduler import LambdaLR

    return optimizer, LambdaLR(optimizer, compute_share)
