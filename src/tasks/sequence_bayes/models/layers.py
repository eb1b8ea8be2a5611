"""The networks as they are trained; predictor.py computes the same from their weights.

Shapes: B sequences, t places, V symbols, W units, H heads, F features of counts.
"""

import math

import torch
from torch.nn import functional

from tasks.sequence_bayes.params import CausalConfig
from tasks.sequence_bayes.predictor import compute_angles, compute_slopes, compute_waves


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

    waves: torch.Tensor

    def __init__(self, config: CausalConfig, num_symbols: int, num_places: int) -> None:
        super().__init__()
        width = config.width
        self.positions = config.positions
        self.embedding = torch.nn.Embedding(num_symbols + 1, width)  # the last is the start
        blocks = [Block(config, num_places) for _ in range(config.layers)]
        self.blocks = torch.nn.ModuleList(blocks)
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, num_symbols)
        if config.positions == "learned":
            self.places = torch.nn.Parameter(0.02 * torch.randn(num_places, width))
        if config.positions == "sinusoidal":
            waves = torch.from_numpy(compute_waves(num_places, width))
            self.register_buffer("waves", waves, persistent=False)

    def encode(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return units [B, t, W] for symbols [B, t], the start symbol first."""
        units = self.embedding(inputs)
        if self.positions == "learned":
            units = units + self.places[: inputs.shape[1]]
        if self.positions == "sinusoidal":
            units = units + self.waves[: inputs.shape[1]]
        for block in self.blocks:
            units = block(units)
        normal: torch.Tensor = self.norm(units)
        return normal


class Block(torch.nn.Module):
    """Attention, then a hidden layer of twice the width."""

    cosines: torch.Tensor
    sines: torch.Tensor
    bias: torch.Tensor

    def __init__(self, config: CausalConfig, num_places: int) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.positions = config.positions
        self.before = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.after = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)
        if config.positions == "rope":
            angles = torch.from_numpy(compute_angles(num_places, width // config.heads)).float()
            self.register_buffer("cosines", angles.cos(), persistent=False)
            self.register_buffer("sines", angles.sin(), persistent=False)
        if config.positions == "alibi":
            places = torch.arange(num_places)
            distance = (places[:, None] - places).float()
            slopes = torch.from_numpy(compute_slopes(config.heads))
            bias = -slopes[:, None, None] * distance
            bias = bias.masked_fill(distance < 0, -math.inf)
            self.register_buffer("bias", bias, persistent=False)

    def forward(self, units: torch.Tensor) -> torch.Tensor:
        """Return units [B, t, W] after this block."""
        units = units + self._attend(self.before(units))
        hidden: torch.Tensor = self.down(torch.relu(self.up(self.after(units))))
        return units + hidden

    def _attend(self, units: torch.Tensor) -> torch.Tensor:
        num_rows, num_places, width = units.shape
        packed = self.qkv(units).view(num_rows, num_places, 3, self.heads, width // self.heads)
        query, key, value = packed.permute(2, 0, 3, 1, 4)
        if self.positions == "rope":
            query, key = self._rotate(query), self._rotate(key)
        if self.positions == "alibi":
            bias = self.bias[:, :num_places, :num_places]
            mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        else:
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        joined = mixed.transpose(1, 2).reshape(num_rows, num_places, width)
        attended: torch.Tensor = self.out(joined)
        return attended

    def _rotate(self, units: torch.Tensor) -> torch.Tensor:
        cosines, sines = self.cosines[: units.shape[2]], self.sines[: units.shape[2]]
        first, second = units.chunk(2, dim=-1)
        turned = [first * cosines - second * sines, second * cosines + first * sines]
        return torch.cat(turned, dim=-1)
