"""The networks as they are trained; predictor.py computes the same from their weights.

Shapes: B sequences, t places, V symbols, W units, H heads, F features of counts.
"""

import torch
from torch.nn import functional

from tasks.sequence_bayes.params import CausalConfig


class SymbolLayers(torch.nn.Module):
    """What every network here has: units at each place, and what is read from them."""

    head: torch.nn.Linear

    def encode(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return units [B, t, W]."""
        raise NotImplementedError

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return logits [B, t, V]."""
        logits: torch.Tensor = self.head(self.encode(inputs))
        return logits


class CountLayers(SymbolLayers):
    """Two hidden layers, at each place on its own."""

    def __init__(self, num_features: int, hidden: int, num_symbols: int) -> None:
        super().__init__()
        self.first = torch.nn.Linear(num_features, hidden)
        self.second = torch.nn.Linear(hidden, hidden)
        self.head = torch.nn.Linear(hidden, num_symbols)

    def encode(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return units [B, t, W] for features [B, t, F]."""
        units = torch.relu(self.first(inputs))
        return torch.relu(self.second(units))


class TransformerLayers(SymbolLayers):
    """A causal transformer with layer norm before each part (Xiong et al. 2020)."""

    def __init__(self, config: CausalConfig, num_symbols: int, num_places: int) -> None:
        super().__init__()
        width = config.width
        self.embedding = torch.nn.Embedding(num_symbols + 1, width)  # the last is the start
        blocks = [Block(config) for _ in range(config.layers)]
        self.blocks = torch.nn.ModuleList(blocks)
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, num_symbols)
        self.places = torch.nn.Parameter(0.02 * torch.randn(num_places, width))

    def encode(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return units [B, t, W] for symbols [B, t], the start symbol first."""
        units = self.embedding(inputs) + self.places[: inputs.shape[1]]
        for block in self.blocks:
            units = block(units)
        normal: torch.Tensor = self.norm(units)
        return normal


class Block(torch.nn.Module):
    """Attention, then a hidden layer of twice the width."""

    def __init__(self, config: CausalConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.before = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.after = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, units: torch.Tensor) -> torch.Tensor:
        """Return units [B, t, W] after this block."""
        units = units + self._attend(self.before(units))
        hidden: torch.Tensor = self.down(torch.relu(self.up(self.after(units))))
        return units + hidden

    def _attend(self, units: torch.Tensor) -> torch.Tensor:
        num_rows, num_places, width = units.shape
        packed = self.qkv(units).view(num_rows, num_places, 3, self.heads, width // self.heads)
        query, key, value = packed.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        joined = mixed.transpose(1, 2).reshape(num_rows, num_places, width)
        attended: torch.Tensor = self.out(joined)
        return attended
