"""Pairs of texts with most character n-grams in common, without comparing all pairs.

Two sets of a Jaccard similarity of at least s have a member in common among the first
n - ceil(s n) + 1 of each, n its number of members, in any one order of all members (Chaudhuri,
Ganti and Kaushik 2006, A Primitive Operator for Similarity Joins in Data Cleaning). With the
rarest n-gram first, few pairs have one. No pair is missed.

The checked texts are indexed, which are the fewer ones; the known ones are looked up in chunks.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plumbline.statistics.ngrams import Grams, ListParts, count_grams, cut_texts, list_ngrams

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_matrix

CHUNK_PAIRS = 200_000  # that are compared at once
ROUNDING = 1e-9


class Twin(NamedTuple):
    """A known text, and its Jaccard similarity to a checked one, from 0 to 1."""

    similarity: float
    text: str


def find_twins(
    checked: Sequence[str],
    known: Iterable[str],
    similarity: float,
    list_parts: ListParts = list_ngrams,
) -> dict[int, Twin]:
    """Map numbers of checked texts to the known text with the most n-grams in common.

    Other parts than n-grams may be compared. Texts of less than this similarity are left out, and
    so are equal texts. Of equally similar ones the last in the order of texts counts.
    """
    if not checked:
        return {}
    index = _build_index(count_grams(checked, list_parts), similarity)
    twins: dict[int, Twin] = {}
    for _, chunk in cut_texts(known):
        for number, place, score in _find_pairs(index, count_grams(chunk, list_parts), similarity):
            if chunk[place] != checked[number]:
                twin = Twin(score, chunk[place])
                twins[number] = max(twins.get(number, twin), twin)
    return twins


@dataclass(frozen=True)
class _FirstGramIndex:
    """The checked texts, by the rarest n-grams of each."""

    matrix: "csr_matrix"  # [texts, n-grams], the rarest n-gram first
    codes: "pd.Index"  # of the n-gram of each column
    grams: np.ndarray  # first n-grams of all texts, sorted
    owners: np.ndarray  # the text of each of `grams`


def _build_index(checked: Grams, similarity: float) -> _FirstGramIndex:
    import pandas as pd

    matrix, codes = checked
    by_rarity = np.argsort(np.bincount(matrix.indices, minlength=len(codes)), kind="stable")
    ranks = np.empty_like(by_rarity)
    ranks[by_rarity] = np.arange(len(codes))
    matrix = _number_columns(matrix, ranks, len(codes))
    owners, grams = _list_first_grams(matrix, np.diff(matrix.indptr), similarity)
    order = np.argsort(grams, kind="stable")
    return _FirstGramIndex(matrix, pd.Index(codes[by_rarity]), grams[order], owners[order])


def _find_pairs(
    index: _FirstGramIndex, known: Grams, similarity: float
) -> Iterator[tuple[int, int, float]]:
    """Yield the numbers of a checked and of a known text, and their similarity."""
    import pandas as pd

    sizes = np.diff(known.matrix.indptr)
    checked_sizes = np.diff(index.matrix.indptr)
    columns = index.codes.get_indexer(pd.Index(known.codes))
    matrix = _number_columns(known.matrix, columns, len(index.codes))
    for theirs, ours in _list_candidates(index, matrix, sizes, similarity):
        smaller = np.minimum(checked_sizes[ours], sizes[theirs])
        larger = np.maximum(checked_sizes[ours], sizes[theirs])
        is_possible = smaller >= similarity * larger - ROUNDING
        ours, theirs = ours[is_possible], theirs[is_possible]
        num_shared = np.asarray(index.matrix[ours].multiply(matrix[theirs]).sum(axis=1)).ravel()
        scores = num_shared / (checked_sizes[ours] + sizes[theirs] - num_shared)
        for place in np.flatnonzero(scores >= similarity):
            yield int(ours[place]), int(theirs[place]), float(scores[place])


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


def _list_candidates(
    index: _FirstGramIndex, matrix: "csr_matrix", sizes: np.ndarray, similarity: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield known texts (rows of `matrix`) that may be similar, and a checked one for each."""
    import pandas as pd

    askers, asked = _list_first_grams(matrix, sizes, similarity)
    first = np.searchsorted(index.grams, asked)
    counts = np.searchsorted(index.grams, asked, side="right") - first
    num_checked = index.matrix.shape[0]
    for part in _cut_chunks(counts, askers):
        repeats = counts[part]
        steps = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        others = index.owners[np.repeat(first[part], repeats) + steps]
        yield np.divmod(
            pd.unique(np.repeat(askers[part], repeats) * num_checked + others), num_checked
        )


def _list_first_grams(
    matrix: "csr_matrix", sizes: np.ndarray, similarity: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (text, n-gram) of the rarest n-grams of each text: similar texts share one of them.

    Texts have `sizes` n-grams, those that `matrix` leaves out too: these are the rarest of all.
    """
    num_listed = np.diff(matrix.indptr)
    num_first = sizes - np.ceil(similarity * sizes - ROUNDING).astype(int) + 1
    num_left = num_first - (sizes - num_listed)
    places = np.arange(len(matrix.indices)) - np.repeat(matrix.indptr[:-1], num_listed)
    owners = np.repeat(np.arange(len(sizes)), num_listed)
    is_first = places < np.repeat(num_left, num_listed)
    return owners[is_first], matrix.indices[is_first]


def _cut_chunks(counts: np.ndarray, askers: np.ndarray) -> Iterator[slice]:
    """Cut the n-grams of texts into runs of whole texts with about CHUNK_PAIRS pairs."""
    starts = np.flatnonzero(np.diff(askers, prepend=-1))
    if not len(starts):
        return
    totals = np.add.reduceat(counts, starts)
    chunks = (np.cumsum(totals) - totals) // CHUNK_PAIRS
    cuts = starts[np.flatnonzero(np.diff(chunks, prepend=-1))].tolist()
    for start, end in zip(cuts, [*cuts[1:], len(counts)], strict=True):
        yield slice(start, end)
