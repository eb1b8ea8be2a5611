"""The processes that train together: how they meet, and how they share what the first one knows.

Nothing is read from a disk that they would have to share.
"""

import atexit
from typing import Any, TypeVar

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from plumbline.process import ranks
from plumbline.training.hardware import Device

T = TypeVar("T")


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


def get_own_device(device: Device) -> torch.device:
    """Return the device of this process, of those of its kind on this machine."""
    return (
        torch.device(device, ranks.get_local_rank()) if device == "cuda" else torch.device(device)
    )


def average_gradients(module: torch.nn.Module, device: torch.device) -> torch.nn.Module:
    """Return the training step of `module` whose gradients are the means over all processes."""
    devices = None if device.type == "cpu" else [device]
    return DistributedDataParallel(_TrainingStep(module), devices)


class _TrainingStep(torch.nn.Module):
    """The step as a call of a module, which is what ddp follows."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = self.module.training_step(batch)
        return loss


def _close_group() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()
