"""What every answer of an extractor must be, whatever the signal; and the longest signal."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from plumbline.contract.task import Columns, Predictor

# A longer signal is answered too, in time that grows with its length.
LONGEST = 8192  # samples


def check_answers(
    columns: Columns, params: Mapping[str, Any], answers: Mapping[str, list[Any]]
) -> list[str]:
    """Return what contradicts itself in the answers.

    A component is as long as its signal and finite; states are finite, and of one length where
    signals have one length.
    """
    signals = columns["signal"]
    problems = []
    lengths: dict[int, int] = {}  # of the first state, by the length of the signal
    for row, (component, state) in enumerate(
        zip(answers["component"], answers["state"], strict=True)
    ):
        num_samples = len(signals[row])
        if len(component) != num_samples:
            problems.append(f"row {row}: {len(component)} samples answer {num_samples}")
        elif not np.isfinite(np.array(component, dtype=float)).all():
            problems.append(f"row {row}: a sample of the component is not finite")
        elif not np.isfinite(np.array(state, dtype=float)).all():
            problems.append(f"row {row}: a number of the state is not finite")
        elif columns.get("state") is None and lengths.setdefault(num_samples, len(state)) != len(
            state
        ):
            problems.append(
                f"row {row}: a state of {len(state)} numbers, after other signals of "
                f"{num_samples} samples it has {lengths[num_samples]}"
            )
    return problems


def build_longest_input(predictor: Predictor) -> dict[str, list[Any]]:
    """Return one sine of LONGEST samples, at the first frequency that the predictor knows."""
    frequency_hz = float(getattr(predictor, "frequencies_hz", [1.0])[0])
    signal = np.sin(np.arange(LONGEST) / 10).round(6)
    return {"signal": [signal.tolist()], "frequency_hz": [frequency_hz]}
