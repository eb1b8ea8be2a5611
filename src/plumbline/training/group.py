"""The processes that train together: how they meet, and how they share what the first one knows.

Nothing is read from a disk that they would have to share.
"""

import atexit
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from lightning.pytorch.plugins.environments import TorchElasticEnvironment
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from plumbline.contract import ranks
from plumbline.contract.errors import TrainingError
from plumbline.training.hardware import Device

T = TypeVar("T")
# Of gloo and of NCCL.
LOST = re.compile(r"Connection (closed|reset) by peer|Broken pipe|[Rr]emote process exited")


class LaunchedEnvironment(TorchElasticEnvironment):  # type: ignore[misc]  # lightning is untyped to mypy here
    """What torchrun's variables say to Lightning, also where something else has set them.

    Machines may have different numbers of processes.
    """

    def validate_settings(self, num_devices: int, num_nodes: int) -> None:
        """Accept what is not a product: WORLD_SIZE is right, however it is made up."""


def join(device: Device) -> None:
    """Wait until all processes are there, which exchange tensors of `device` from then on."""
    if ranks.get_world_size() == 1 or distributed.is_initialized():
        return
    if device == "cuda":
        torch.cuda.set_device(ranks.get_local_rank())
    distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    atexit.register(_close_group)


def broadcast(value: T) -> T:
    """Return the first process's value in every process."""
    if ranks.get_world_size() == 1:
        return value
    box = [value]
    distributed.broadcast_object_list(box, src=0)
    return box[0]


def gather(value: T) -> list[T]:
    """Return the values of all processes, the first one's first, in every process."""
    if ranks.get_world_size() == 1:
        return [value]
    values = [value] * ranks.get_world_size()
    distributed.all_gather_object(values, value)
    return values


def fix_order_of_sums(model: torch.nn.Module) -> None:
    """Let ddp add up gradients of CPUs one tensor at a time, before its first step.

    Three processes or more add up each number of a message in an order that depends on its place
    there, and ddp builds its messages again after its first step, also that of a resumed training.
    """
    if isinstance(model, DistributedDataParallel) and model.device_type == "cpu":
        model.register_comm_hook(None, _average_tensors)


@contextmanager
def explain_lost_process() -> Iterator[None]:
    """Raise TrainingError in place of what a backend says when another process ends."""
    try:
        yield
    except RuntimeError as error:
        if ranks.get_world_size() > 1 and LOST.search(str(error)):
            raise TrainingError(
                "another process of this training has ended; its own output says why"
            ) from None
        raise


def _close_group() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()


def _average_tensors(
    state: object,
    bucket: distributed.GradBucket,  # type: ignore[name-defined]  # torch has no type of it
) -> torch.futures.Future[torch.Tensor]:
    message: torch.Tensor = bucket.buffer().div_(ranks.get_world_size())
    sums = []
    for gradient in bucket.gradients():
        sums.append(distributed.all_reduce(gradient, async_op=True).get_future())

    def finish(done: torch.futures.Future[list[torch.futures.Future[Any]]]) -> torch.Tensor:
        for each in done.value():
            each.value()  # raises where another process was lost
        return message

    return torch.futures.collect_all(sums).then(finish)
