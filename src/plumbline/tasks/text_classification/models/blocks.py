"""The parts of an encoder that processes which share its weights put together one at a time."""

from typing import Any

import torch


def find_blocks(model: Any) -> list[torch.nn.Module]:
    """Return the word vectors and the layers of the encoder in `model`, or of all its members."""
    blocks: list[torch.nn.Module] = []
    for member in getattr(model, "members", [model]):
        blocks += [member.body.get_input_embeddings(), *_find_layers(member.body)]
    return blocks


def _find_layers(encoder: torch.nn.Module) -> torch.nn.ModuleList:
    """Return the list of modules that has the most weights: the outermost, if several do."""
    lists = [module for module in encoder.modules() if isinstance(module, torch.nn.ModuleList)]
    return max(lists, key=_count_weights)


def _count_weights(module: torch.nn.Module) -> int:
    return sum(weight.numel() for weight in module.parameters())
