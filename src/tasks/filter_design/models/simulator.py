"""The simulator in torch, for training: by how many dB ladders meet their masks, with gradients.

It computes what the predictor's `simulate` does, in the units of the low-pass prototype.
"""

import torch

from tasks.filter_design.models.rows import MaskRows
from tasks.filter_design.predictor.networks import MAX_VALUES

NUM_STOPS = 2  # the last points of a mask
BAND_ORDER = 3  # resonators of a band-pass: their levels, then their detunings


Masks = MaskRows[torch.Tensor]


def simulate_margins(
    masks: Masks, values: torch.Tensor, arrangements: torch.Tensor
) -> torch.Tensor:
    """Return the margin in dB at each point of the mask [B, F].

    `values` [B, MAX_VALUES] are coordinates, `arrangements` [B] 0 where the inductor is first.
    """
    is_band = masks.width > 0
    places = torch.arange(MAX_VALUES)
    level = torch.where(is_band[:, None] & (places >= BAND_ORDER), 0.0, values)
    detuning = torch.where(is_band[:, None], values.roll(-BAND_ORDER, dims=1), 0.0)
    shift = masks.width[:, None] * detuning
    rows = torch.arange(len(values))
    up = torch.exp(masks.base + level + shift)
    down = torch.exp(masks.base + level - shift) * is_band[:, None]
    lost = up * masks.rising[rows, arrangements] + down * masks.falling[rows, arrangements]
    points = masks.points[:, None]
    reactances = up[:, :, None] * points - down[:, :, None] / points
    branches = torch.complex(lost[:, :, None].expand_as(reactances), reactances)
    before = torch.ones_like(branches[:, 0])
    last = 1 + branches[:, 0]
    for branch in range(1, MAX_VALUES):
        before, last = last, before + branches[:, branch] * last
    loss = 20 * torch.log10((before + last).abs() / 2)
    passed = masks.limits[:, :1] - loss[:, :-NUM_STOPS]
    return torch.cat([passed, loss[:, -NUM_STOPS:] - masks.limits[:, 1:]], dim=1)
