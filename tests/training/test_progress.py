"""What a training says of how it went."""

import pytest

from plumbline.training.checkpoint import TrainingState
from plumbline.training.fitting import describe_end


@pytest.mark.parametrize(
    ("epoch", "best_epoch", "end"),
    [
        (4, 4, ""),
        (4, 3, "; keeps epoch 3"),
        (3, 1, "; stopped early, as the loss on validation no longer fell; keeps epoch 1"),
    ],
)
def test_the_end_says_early_stopping_and_which_epoch_is_kept(
    epoch: int, best_epoch: int, end: str
) -> None:
    history = [{"epoch": float(number), "train/loss": 0.5} for number in range(1, epoch + 1)]
    state = TrainingState(epoch=epoch, best_epoch=best_epoch, history=history)
    said = describe_end(state, 4, "20/s, 7 s")
    assert said == f"epoch {epoch}/4  train/loss 0.5000  20/s, 7 s{end}"
