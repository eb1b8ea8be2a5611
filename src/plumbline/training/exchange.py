"""Tensors that the first process reads and writes for all, one at a time, whole or in shards."""

import torch
from torch import distributed
from torch.distributed.tensor import DTensor, distribute_tensor

from plumbline.contract import ranks


@torch.no_grad()
def gather_tensors(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return all of each tensor on the CPU of the first process; {} in the others.

    Each process may have a shard of it, and all have to call this.
    """
    collected = {}
    for name, tensor in tensors.items():
        whole = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
        if ranks.is_main():
            collected[name] = whole.detach().cpu()
    return collected


@torch.no_grad()
def copy_from_first(target: torch.Tensor, source: torch.Tensor) -> None:
    """Put the first process's `source` into the `target` of all, or into each its shard of it.

    What the others pass as `source` is not read.
    """
    if ranks.get_world_size() == 1:
        target.copy_(source)
        return
    whole = torch.empty(target.shape, dtype=target.dtype, device=_choose_device())
    if ranks.is_main():
        whole.copy_(source)
    if isinstance(target, DTensor):
        target.copy_(distribute_tensor(whole, target.device_mesh, target.placements))
    else:
        distributed.broadcast(whole, src=0)
        target.copy_(whole)


def _choose_device() -> str:
    """Return the kind of device whose tensors the processes exchange."""
    return "cuda" if distributed.get_backend() == "nccl" else "cpu"
