"""Rounds weights to 7 bits, each output of a product on a scale of its own."""

import numpy as np

# Two products with activations of 8 bits fit into the 16 bits in which CPUs without VNNI add them
# up, so that every machine gives the same answer.
LARGEST = 64


def round_weights(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return int8 weights (width, outputs) and the scale of each output (outputs,), float32."""
    largest = np.abs(weights).max(axis=0)
    scales = np.where(largest > 0, largest, 1.0).astype(np.float32) / np.float32(LARGEST)
    return np.rint(weights / scales).astype(np.int8), scales
