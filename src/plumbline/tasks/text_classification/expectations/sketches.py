"""Pairs of texts that may be nearly the same: MinHash sketches, in bands (Broder 1997)."""

import zlib
from collections.abc import Sequence

import numpy as np

# 12 bands of 10 hashes: at similarity 0.9 all but 1 % of pairs are found; every one is verified.
NUM_HASHES = 128
WEIGHTS = (0.2, 0.8)  # of a false candidate, which costs time, and of a pair that is missed


def list_candidates(
    checked: Sequence[set[bytes]], known: Sequence[set[bytes]], similarity: float
) -> list[tuple[int, int]]:
    """List (checked, known) texts, as numbers, whose sketches agree in a band.

    `checked` and `known` have the n-grams of each text; `similarity` is that of pairs to be found
    (Jaccard). A band is compared by a hash of 64 bits.
    """
    num_bands, width = _choose_bands(max(similarity - 0.1, 0.1))
    known_bands = _hash_bands(_compute_sketches(known), num_bands, width)
    checked_bands = _hash_bands(_compute_sketches(checked), num_bands, width)
    pairs: list[np.ndarray] = []
    for theirs, ours in zip(known_bands, checked_bands, strict=True):
        order = np.argsort(theirs, kind="stable")
        first = np.searchsorted(theirs, ours, sorter=order)
        counts = np.searchsorted(theirs, ours, side="right", sorter=order) - first
        rows = np.repeat(np.arange(len(ours)), counts)
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        others = order[np.repeat(first, counts) + steps]
        pairs.append(np.unique(rows * len(known) + others))
    rows, others = np.divmod(np.unique(np.concatenate(pairs)), len(known))
    return list(zip(rows.tolist(), others.tolist(), strict=True))


def _choose_bands(threshold: float) -> tuple[int, int]:
    """Choose how many bands there are, and of how many hashes, as datasketch does."""
    from datasketch import MinHashLSH

    index = MinHashLSH(threshold=threshold, num_perm=NUM_HASHES, weights=WEIGHTS)
    return index.b, index.r


def _compute_sketches(texts: Sequence[set[bytes]]) -> np.ndarray:
    """Compute the MinHash sketch of each text: [texts, hashes]."""
    from datasketch import MinHash

    sketches = MinHash.generator(texts, num_perm=NUM_HASHES, hashfunc=zlib.crc32)
    return np.stack([sketch.hashvalues for sketch in sketches])


def _hash_bands(sketches: np.ndarray, num_bands: int, width: int) -> np.ndarray:
    """Hash each band of each sketch into one number: [bands, texts]."""
    weights = np.random.default_rng(0).integers(1 << 63, size=width, dtype=np.uint64)
    bands = sketches[:, : num_bands * width].astype(np.uint64).reshape(-1, num_bands, width)
    hashes: np.ndarray = (bands * (2 * weights + 1)).sum(axis=2, dtype=np.uint64)
    return hashes.T
