"""The linear candidate: least squares filters on the samples so far, in closed form.

There is one filter for each number of samples. Shapes: M windows, K components, W taps. Filters are
[K, W, W]: of component k, after p + 1 samples, on sample q <= p.
"""

from pathlib import Path

import numpy as np

from plumbline.contract.records import Learner
from plumbline.process.files import write_json
from tasks.signal_extraction.data.windows import Windows
from tasks.signal_extraction.params import FirConfig


def build_fir_learner(config: FirConfig, train: Windows) -> Learner:
    """Ridge regression (Hoerl and Kennard 1970) of each component on the last samples of train."""
    solved: dict[str, np.ndarray] = {}

    def solve() -> None:
        solved["filters"] = solve_filters(
            train.signals, train.components, config.taps, config.ridge
        )

    def save(folder: Path) -> None:
        from safetensors.numpy import save_file

        save_file(solved, folder / "model.safetensors")
        values = {"kind": "fir", "frequencies_hz": train.setting.frequencies_hz}
        write_json(folder / "config.json", values)

    return Learner(save=save, solve=solve)


def solve_filters(
    signals: np.ndarray, components: np.ndarray, taps: int, ridge: float
) -> np.ndarray:
    """Return the filters [K, W, W] for windows [M, L] of components [M, K, L], L >= W = `taps`.

    All share one Gram matrix of the last W samples: its leading blocks serve fewer samples.
    """
    from scipy.linalg import cholesky, solve_triangular

    recent = signals[:, ::-1][:, :taps]  # the newest sample first
    gram = recent.T @ recent / len(recent) + ridge * np.eye(taps)
    lower = cholesky(gram, lower=True)
    # Normal equations L L' h = b: the first step serves all lengths, as z[:w] needs only b[:w].
    halfway = solve_triangular(lower, recent.T @ components[:, :, -1] / len(recent), lower=True)
    solved = np.zeros((components.shape[1], taps, taps))
    for w in range(1, taps + 1):
        weights = solve_triangular(lower[:w, :w], halfway[:w], lower=True, trans="T")
        solved[:, w - 1, :w] = weights[::-1].T
    return solved
