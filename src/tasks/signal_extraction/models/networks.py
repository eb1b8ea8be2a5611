"""The recurrent networks; each answers for all frequencies at once, and continues from a state.

Shapes: B windows, K components, T samples, H hidden units, D layers. A state is the pair (h, c),
each [D, rows, H].
"""

import torch

State = tuple[torch.Tensor, torch.Tensor]


class StatefulLstm(torch.nn.Module):
    """LSTM(1 + K -> H) on the sample and the one-hot frequency, then a linear layer.

    It has B * K rows of state: one for each window and frequency.
    """

    def __init__(self, num_frequencies: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(1 + num_frequencies, hidden, layers, batch_first=True)
        self.head = torch.nn.Linear(hidden, 1)
        self.num_frequencies = num_frequencies

    @property
    def rows_a_window(self) -> int:
        """Rows of state that a window needs."""
        return self.num_frequencies

    def forward(
        self, signals: torch.Tensor, state: State | None = None
    ) -> tuple[torch.Tensor, State]:
        """Return components [B, K, T] for signals [B, T], and the state after; no state: zeros."""
        (size, length), num = signals.shape, self.num_frequencies
        asked = torch.eye(num, dtype=signals.dtype, device=signals.device).repeat(size, 1)
        samples = signals.repeat_interleave(num, 0)
        inputs = torch.cat([samples[:, :, None], asked[:, None].expand(-1, length, -1)], 2)
        states, state = self.lstm(inputs, state)
        return self.head(states).reshape(size, num, length), state


class FilmLstm(torch.nn.Module):
    """LSTM(1 -> H), a layer whose units each frequency scales and shifts, a linear layer; B rows.

    Perez et al. 2018, arXiv:1709.07871: FiLM(z) = gamma * z + beta, here followed by a ReLU.
    """

    rows_a_window = 1

    def __init__(self, num_frequencies: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(1, hidden, layers, batch_first=True)
        self.mix = torch.nn.Linear(hidden, hidden)
        self.scale = torch.nn.Parameter(1 + 0.1 * torch.randn(num_frequencies, hidden))
        self.shift = torch.nn.Parameter(0.1 * torch.randn(num_frequencies, hidden))
        self.head = torch.nn.Linear(hidden, 1)
        self.num_frequencies = num_frequencies

    def forward(
        self, signals: torch.Tensor, state: State | None = None
    ) -> tuple[torch.Tensor, State]:
        """Return components [B, K, T] for signals [B, T], and the state after; no state: zeros."""
        states, state = self.lstm(signals[:, :, None], state)
        mixed = self.mix(states)[:, None]
        units = torch.relu(self.scale[:, None] * mixed + self.shift[:, None])
        return self.head(units).squeeze(3), state


Network = StatefulLstm | FilmLstm
