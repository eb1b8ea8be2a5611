"""The lower layers of a pretrained encoder may stay as they are."""

from typing import Any

import torch

from plumbline.contract.errors import ParamsError

LAST_NORMS = ("final_norm", "norm", "ln_f")  # above all layers, in encoders that have one


def freeze_lower_layers(encoder: Any, num_frozen: int) -> None:
    """Leave the embeddings and the lowest layers of a pretrained `encoder` as they are.

    No gradient is computed for them. Raises ParamsError where no layer would be left to train.
    """
    layers = _find_layers(encoder)
    if num_frozen >= len(layers):
        raise ParamsError(
            f"frozen_layers: {num_frozen}, but the encoder has {len(layers)}; leave one to train"
        )
    encoder.requires_grad_(False)
    last = [getattr(encoder, name) for name in LAST_NORMS if hasattr(encoder, name)]
    for module in [*layers[num_frozen:], *last]:
        module.requires_grad_(True)


def _find_layers(encoder: torch.nn.Module) -> torch.nn.ModuleList:
    """Return the list of modules that has the most weights: the outermost, if several do."""
    lists = [module for module in encoder.modules() if isinstance(module, torch.nn.ModuleList)]
    return max(lists, key=_count_weights)


def _count_weights(module: torch.nn.Module) -> int:
    return sum(weight.numel() for weight in module.parameters())
