"""Copies in held-out splits: each text counts once in a score."""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


class HeldOutRows:
    """The rows of validation and test, by what they say and their label: 8 bytes for each.

    Doubled rows would let a few texts decide a score. In train a copy may stay: there it is a
    weight that the data have.
    """

    def __init__(self) -> None:
        # Sorted 64-bit digests; each run is at least twice as long as the next one.
        self._runs: list[np.ndarray] = []

    def find_copies(
        self, splits: Sequence[str], labels: Sequence[str], compact: "np.ndarray"
    ) -> "np.ndarray":
        """Return for each row whether an earlier one of its split has the text and the label.

        Rows come in the order of the source; `compact` are those of their texts (`digest_forms`).
        """
        import numpy as np

        kinds = list(zip(splits, labels, strict=True))
        marks = {kind: _digest_kind(*kind) for kind in set(kinds)}
        keys = compact ^ np.array([marks[kind] for kind in kinds], np.uint64)
        is_held_out = np.array([split != "train" for split in splits], bool)
        is_copy = np.zeros(len(keys), bool)
        is_copy[is_held_out] = self._find_known(keys[is_held_out])
        return is_copy

    def _find_known(self, keys: "np.ndarray") -> "np.ndarray":
        """Return for each key whether it came before, and remember it."""
        import numpy as np

        is_known = np.ones(len(keys), bool)
        is_known[np.unique(keys, return_index=True)[1]] = False
        for run in self._runs:
            places = np.searchsorted(run, keys)
            places[places == len(run)] = 0
            is_known |= run[places] == keys
        new = np.sort(keys[~is_known])
        if len(new):
            self._runs.append(new)
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            last = self._runs.pop()
            self._runs[-1] = np.sort(np.concatenate([self._runs[-1], last]), kind="stable")
        return is_known


def _digest_kind(split: str, label: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{split} {label}".encode()).digest()[:8])
