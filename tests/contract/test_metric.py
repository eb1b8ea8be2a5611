"""What a metric may say of itself."""

import pytest

from plumbline.contract.task import Metric


def test_a_binary_metric_counts_right_answers() -> None:
    with pytest.raises(ValueError, match=r"the metric wrong: .* count right answers"):
        Metric("wrong", higher_is_better=False, kind="binary")
    assert Metric("right", higher_is_better=True, kind="binary").best == 1.0
