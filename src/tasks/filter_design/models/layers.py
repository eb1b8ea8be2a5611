"""The networks as they are trained; the predictor computes the same from their weights."""

import functools
import itertools
from typing import Any

import torch
from torch.nn import functional


class Layers(torch.nn.Module):
    """Hidden layers with SiLU between them."""

    activate = staticmethod(functional.silu)

    def __init__(self, num_inputs: int, hidden: int, num_hidden: int, num_outputs: int) -> None:
        super().__init__()
        sizes = [num_inputs, *[hidden] * num_hidden, num_outputs]
        linear = [torch.nn.Linear(*pair) for pair in itertools.pairwise(sizes)]
        self.layers = torch.nn.ModuleList(linear)

    def forward(self, units: torch.Tensor) -> torch.Tensor:
        """Return outputs [B, O] for inputs [B, I]."""
        for layer in self.layers[:-1]:
            units = self.activate(layer(units))
        outputs: torch.Tensor = self.layers[-1](units)
        return outputs


class CriticLayers(Layers):
    """The same with leaky ReLU, which keeps what spectral norm lets through."""

    activate = staticmethod(functools.partial(functional.leaky_relu, negative_slope=0.2))


class AverageWeights(torch.nn.Module):
    """The moving average of a network's weights, as buffers: a checkpoint has them too."""

    def __init__(self, model: torch.nn.Module, decay: float) -> None:
        super().__init__()
        self._decay = decay
        for name, weight in model.named_parameters():
            self.register_buffer(name.replace(".", "-"), weight.detach().clone())

    @torch.no_grad()
    def update(self, model: torch.nn.Module, step: int) -> None:
        """Move towards the weights of `model`; early steps count more."""
        share = 1 - min(self._decay, (1 + step) / (10 + step))
        buffers = dict(self.named_buffers())
        for name, weight in model.named_parameters():
            buffers[name.replace(".", "-")].lerp_(weight, share)

    def list_weights(self) -> dict[str, torch.Tensor]:
        """Return the average by the names of the model's parameters."""
        return {name.replace("-", "."): buffer for name, buffer in self.named_buffers()}


class ReverseGradient(torch.autograd.Function):
    """The identity, whose gradient has the other sign (Ganin and Lempitsky 2015).

    A generator before it and a critic behind it learn against each other from one loss.
    """

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor) -> torch.Tensor:  # noqa: D102
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # noqa: D102
        return -gradient
