"""Fully sharded data parallel: each process keeps its shard of the weights and of their moments.

torch's `fully_shard` puts one block of the model together before it computes with it, and takes it
apart again; gradients are averaged as they are taken apart (Zhao et al. 2023, arXiv:2304.11277).
"""

from copy import deepcopy
from typing import Any

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from plumbline.contract import ranks
from plumbline.contract.errors import ParamsError
from plumbline.contract.records import Learner
from plumbline.training.hardware import Device


def is_sharded(learner: Learner) -> bool:
    """Whether `learner` asks for sharded weights, and several processes train it."""
    return bool(learner.blocks) and ranks.get_world_size() > 1


def shard_module(learner: Learner, device: Device) -> Any:
    """Return the module to train: the learner's, of whose weights each process has a shard.

    The learner's own module is left without weights, so that no process has all of them. That of
    the first process keeps those that are not trained, for the export. Raises ParamsError for a
    device on which weights cannot be shared.
    """
    if device == "mps":
        raise ParamsError(
            "training.device: the processes of an Apple GPU cannot share weights (fsdp: true); "
            "set it to cpu"
        )
    copies: dict[int, Any] = {}  # by the id of what is copied
    for weight in learner.module.parameters():
        copies[id(weight)] = torch.nn.Parameter(weight.data, weight.requires_grad)
    sharded = deepcopy(learner.module, copies)
    blocks = [copies[id(block)] for block in learner.blocks]
    _drop_weights(learner.module)
    copies.clear()
    mesh = init_device_mesh(device, (ranks.get_world_size(),))
    for part in (*blocks, sharded):
        fully_shard(part, mesh=mesh)
    return sharded


def _drop_weights(module: torch.nn.Module) -> None:
    """Replace weights by their shapes: those that are trained and, but in the first process, all.

    They come back with the best ones, for which the first process has all memory that it needs.
    """
    for part in module.modules():
        for name, weight in list(part.named_parameters(recurse=False)):
            if weight.requires_grad or not ranks.is_main():
                shape = torch.nn.Parameter(weight.to("meta"), weight.requires_grad)
                setattr(part, name, shape)
