"""Schedules of the learning rate, as torch steps through them."""

import pytest
import torch

from plumbline.contract.learning_rate import decay_by_cosine, decay_linearly


def list_shares(decay: object, num_steps: int, num_warmup: float, count: int) -> list[float]:
    """Return the rate of each of `count` steps, of an optimizer whose own rate is 1."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    _, schedule = decay(optimizer, num_steps, num_warmup)  # type: ignore[operator]
    rates = []
    for _ in range(count):
        rates += schedule.get_last_lr()
        optimizer.step()
        schedule.step()
    return rates


def test_the_rate_rises_in_a_line_and_falls() -> None:
    linear = list_shares(decay_linearly, 6, 2, 6)
    assert linear == [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    cosine = list_shares(decay_by_cosine, 6, 2, 6)
    assert cosine == pytest.approx([1 / 3, 2 / 3, 1.0, 0.85355, 0.5, 0.14645], abs=1e-5)
    assert list_shares(decay_by_cosine, 4, 0.5, 2) == pytest.approx([2 / 3, 0.95048], abs=1e-5)


@pytest.mark.parametrize("decay", [decay_linearly, decay_by_cosine])
@pytest.mark.parametrize("num_warmup", [0, 2, 6])
def test_the_rate_is_zero_from_the_last_step_on(decay: object, num_warmup: int) -> None:
    rates = list_shares(decay, 6, num_warmup, 15)
    assert min(rates[:6]) > 0
    assert rates[6:] == [0.0] * 9
