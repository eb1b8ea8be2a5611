"""Pairs of texts that have most of their character n-grams in common, without comparing all pairs.

Two sets of a Jaccard similarity of at least s have a member in common among the first
n - ceil(s n) + 1 of each, n its number of members, in any one order of all members (Chaudhuri,
Ganti and Kaushik 2006, A Primitive Operator for Similarity Joins in Data Cleaning). With the
rarest n-gram first, few pairs have one. No pair is missed.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plumbline.tasks.text_classification.expectations.grams import count_grams

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

CHUNK_PAIRS = 200_000  # that are compared at once
ROUNDING = 1e-9


class SimilarPair(NamedTuple):
    """Two texts, as numbers, and their Jaccard similarity."""

    checked: int
    known: int
    similarity: float


def find_similar_pairs(
    checked: Sequence[str], known: Sequence[str], similarity: float
) -> Iterator[SimilarPair]:
    """Yield each (checked, known) pair with at least this Jaccard similarity of n-grams, from 0."""
    if not checked or not known:
        return
    grams = _sort_by_rarity(count_grams([*known, *checked]))
    sizes = np.diff(grams.indptr)
    for ours, theirs in _list_candidates(grams, len(known), similarity):
        num_shared = np.asarray(grams[ours].multiply(grams[theirs]).sum(axis=1)).ravel()
        scores = num_shared / (sizes[ours] + sizes[theirs] - num_shared)
        for place in np.flatnonzero(scores >= similarity):
            yield SimilarPair(
                int(ours[place]) - len(known), int(theirs[place]), float(scores[place])
            )


def _sort_by_rarity(grams: "csr_matrix") -> "csr_matrix":
    """Number the n-grams by how many texts have them; each row has its rarest one first."""
    num_texts = np.bincount(grams.indices, minlength=grams.shape[1])
    ranks = np.empty_like(num_texts)
    ranks[np.argsort(num_texts, kind="stable")] = np.arange(len(num_texts))
    grams.indices = ranks[grams.indices]
    grams.has_sorted_indices = False
    grams.sort_indices()
    return grams


def _list_candidates(
    grams: "csr_matrix", num_known: int, similarity: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows of `grams` that may be similar: checked ones, and a known one for each."""
    import pandas as pd

    owners, tokens = _list_first_grams(grams, similarity)
    is_known = owners < num_known
    order = np.argsort(tokens[is_known], kind="stable")
    index, index_owners = tokens[is_known][order], owners[is_known][order]
    asked, askers = tokens[~is_known], owners[~is_known]
    first = np.searchsorted(index, asked)
    counts = np.searchsorted(index, asked, side="right") - first
    sizes = np.diff(grams.indptr)
    for part in _cut_chunks(counts, askers):
        repeats = counts[part]
        steps = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        others = index_owners[np.repeat(first[part], repeats) + steps]
        pairs = pd.unique(np.repeat(askers[part], repeats) * num_known + others)
        ours, theirs = np.divmod(pairs, num_known)
        smaller = np.minimum(sizes[ours], sizes[theirs])
        larger = np.maximum(sizes[ours], sizes[theirs])
        is_possible = smaller >= similarity * larger - ROUNDING
        yield ours[is_possible], theirs[is_possible]


def _list_first_grams(grams: "csr_matrix", similarity: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (row, n-gram) of the rarest n-grams of each row: similar rows share one of them."""
    sizes = np.diff(grams.indptr)
    num_first = sizes - np.ceil(similarity * sizes - ROUNDING).astype(int) + 1
    places = np.arange(len(grams.indices)) - np.repeat(grams.indptr[:-1], sizes)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    is_first = places < np.repeat(num_first, sizes)
    return owners[is_first], grams.indices[is_first]


def _cut_chunks(counts: np.ndarray, askers: np.ndarray) -> Iterator[slice]:
    """Cut the n-grams of checked texts into runs of whole texts with about CHUNK_PAIRS pairs."""
    starts = np.flatnonzero(np.diff(askers, prepend=-1))
    totals = np.add.reduceat(counts, starts)
    chunks = (np.cumsum(totals) - totals) // CHUNK_PAIRS
    cuts = starts[np.flatnonzero(np.diff(chunks, prepend=-1))].tolist()
    for start, end in zip(cuts, [*cuts[1:], len(counts)], strict=True):
        yield slice(start, end)
