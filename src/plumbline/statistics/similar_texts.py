"""Pairs of texts with most character n-grams in common, without comparing all pairs.

Two sets of a Jaccard similarity of at least s have k members in common among the first
n - ceil(s n) + k of each, n its number of members, in any one order of all members and for any k
up to s n (Chaudhuri, Ganti and Kaushik 2006, A Primitive Operator for Similarity Joins in Data
Cleaning; Wang, Li and Feng 2012, AdaptJoin). With the rarest n-gram first, few pairs have them. No
pair is missed; most are compared only where most texts are about as similar as is asked for.

The checked texts are indexed, which are the fewer ones; the known ones are looked up in chunks.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plumbline.statistics.ngrams import Grams, ListParts, count_grams, cut_texts

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

CHUNK_TEXTS = 200  # known ones that are looked up at once
CHUNK_PAIRS = 20_000  # that are compared at once
SHARE_DEMANDED = 0.1  # of s n, which is k
ROUNDING = 1e-9


class Twin(NamedTuple):
    """A known text, and its Jaccard similarity to a checked one, from 0 to 1."""

    similarity: float
    text: str


def find_twins(
    checked: Sequence[str],
    known: Iterable[str],
    similarity: float,
    list_parts: ListParts | None = None,
) -> dict[int, Twin]:
    """Map numbers of checked texts to the known text with the most n-grams in common.

    Other parts than n-grams may be compared. Texts of less than this similarity are left out, and
    so are equal texts. Of equally similar ones the last in the order of texts counts.
    """
    if not checked:
        return {}
    grams = _put_rarest_first(count_grams(checked, list_parts))
    sizes = np.diff(grams.matrix.indptr)
    order = np.argsort(sizes, kind="stable")
    first = _keep_first_grams(grams.matrix, sizes, similarity)[order]
    by_size = Grams(grams.matrix[order], grams.codes)
    twins: dict[int, Twin] = {}
    for _, chunk in cut_texts(known):
        listed = count_grams(chunk, list_parts)
        for row, place, score in _find_pairs(by_size, first, listed, similarity):
            twin, number = Twin(score, chunk[place]), int(order[row])
            if twin.text != checked[number]:
                twins[number] = max(twins.get(number, twin), twin)
    return twins


def _put_rarest_first(grams: Grams) -> Grams:
    """Return the same n-grams in the order of how many texts have them."""
    by_rarity = np.argsort(np.bincount(grams.matrix.indices, minlength=len(grams.codes)))
    ranks = np.argsort(by_rarity)
    return Grams(_number_columns(grams.matrix, ranks, len(ranks)), grams.codes[by_rarity])


def _find_pairs(
    checked: Grams, first: "csr_matrix", known: Grams, similarity: float
) -> Iterator[tuple[int, int, float]]:
    """Yield the numbers of a checked and of a known text, and their similarity.

    Checked texts come by size: neighbours have about the same. `first` are their rarest n-grams.
    """
    import pandas as pd

    sizes, checked_sizes = np.diff(known.matrix.indptr), np.diff(checked.matrix.indptr)
    columns = pd.Index(checked.codes).get_indexer(known.codes)
    matrix = _number_columns(known.matrix, columns, len(checked.codes))
    asked = _keep_first_grams(matrix, sizes, similarity)
    order = np.argsort(sizes, kind="stable")
    for start in range(0, len(sizes), CHUNK_TEXTS):
        rows = order[start : start + CHUNK_TEXTS]
        ends = [similarity * sizes[rows[0]] - 1, sizes[rows[-1]] / similarity + 1]
        low, high = np.searchsorted(checked_sizes, ends)
        shared = (first[low:high] @ asked[rows].T.tocsr()).tocoo()
        ours, theirs = shared.row + low, rows[shared.col]
        smaller = np.minimum(checked_sizes[ours], sizes[theirs])
        larger = np.maximum(checked_sizes[ours], sizes[theirs])
        is_possible = smaller >= similarity * larger - ROUNDING
        is_possible &= shared.data >= _count_demanded(smaller, similarity)
        possible = np.flatnonzero(is_possible)
        for part in range(0, len(possible), CHUNK_PAIRS):
            pairs = possible[part : part + CHUNK_PAIRS]
            one, two = ours[pairs], theirs[pairs]
            num_shared = np.asarray(checked.matrix[one].multiply(matrix[two]).sum(axis=1)).ravel()
            scores = num_shared / (checked_sizes[one] + sizes[two] - num_shared)
            for place in np.flatnonzero(scores >= similarity):
                yield int(one[place]), int(two[place]), float(scores[place])


def _count_demanded(sizes: np.ndarray, similarity: float) -> np.ndarray:
    """Count the n-grams that texts share at first; the smaller one of each pair has `sizes`."""
    return 1 + (SHARE_DEMANDED * similarity * sizes).astype(int)


def _number_columns(matrix: "csr_matrix", numbers: np.ndarray, num_columns: int) -> "csr_matrix":
    """Return `matrix` with other numbers of its columns, sorted; those below 0 are left out."""
    from scipy.sparse import csr_matrix

    columns = numbers[matrix.indices]
    is_kept = columns >= 0
    ends = np.concatenate([[0], np.cumsum(is_kept)])[matrix.indptr]
    shape = (matrix.shape[0], num_columns)
    numbered = csr_matrix((matrix.data[is_kept], columns[is_kept], ends), shape=shape)
    numbered.sort_indices()
    return numbered


def _keep_first_grams(matrix: "csr_matrix", sizes: np.ndarray, similarity: float) -> "csr_matrix":
    """Return the rarest n-grams of each text alone: similar texts share some of them.

    Texts have `sizes` n-grams, those that `matrix` leaves out too: these are the rarest of all.
    """
    from scipy.sparse import csr_matrix

    num_listed = np.diff(matrix.indptr)
    num_first = (
        sizes
        - np.ceil(similarity * sizes - ROUNDING).astype(int)
        + _count_demanded(sizes, similarity)
    )
    num_left = num_first - (sizes - num_listed)
    places = np.arange(len(matrix.indices)) - np.repeat(matrix.indptr[:-1], num_listed)
    is_first = places < np.repeat(num_left, num_listed)
    owners = np.repeat(np.arange(len(sizes)), num_listed)[is_first]
    marks = np.ones(len(owners), dtype=np.int32)
    return csr_matrix((marks, (owners, matrix.indices[is_first])), shape=matrix.shape)
