"""Texts that resemble another one, though few of their n-grams agree: a word was exchanged, or one
text holds the other.

Short texts on one subject do so by chance, in every split alike. What counts is therefore how many
more do so across two splits than within one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from plumbline.tasks.text_classification.expectations.exchanges import find_exchanged
from plumbline.tasks.text_classification.expectations.grams import count_grams
from plumbline.tasks.text_classification.expectations.recent_answers import keep_recent
from plumbline.tasks.text_classification.expectations.text_chunks import cut_texts

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

PIECE = 12  # characters without spaces; an exchanged word cuts at most two pieces
MIN_PIECES = 3
# A piece of more texts than these is a phrase that many use. Of its texts only some are compared
# with each other text that has it, drawn again for each: a copy is found by any of its pieces.
MAX_OWNERS = 20
NUM_DRAWN = 2
HASH_BASE = np.uint64(0x9E3779B97F4A7C15)
FILTER_BITS = 22
CHUNK_PAIRS = 100_000


def find_resembling(
    known: Sequence[str], checked: Sequence[str], similarity: float, with_common: bool = False
) -> dict[str, str]:
    """Map texts of `checked` to a text of `known` that they resemble, and are not equal to.

    All are in the comparison form, with spaces. Two texts of MIN_WORDS or more resemble each other
    if they differ in one word or in the order of words; others if one has at least MIN_PIECES
    pieces and the other one holds `similarity` of its character n-grams. Texts that share nothing
    but pieces that many have are compared `with_common`, and only some of them.
    """
    return dict(_find_resembling(known, checked, similarity, with_common))


@keep_recent(12)  # the selftest asks about the same two splits dozens of times
def _find_resembling(
    known: Sequence[str], checked: Sequence[str], similarity: float, with_common: bool
) -> dict[str, str]:
    twins = find_exchanged(known, checked)
    rest = [text for text in checked if text not in twins]
    for inner, outer in _list_contained(rest, known, similarity, with_common):
        twins.setdefault(rest[inner], known[outer])
    rest = [text for text in rest if text not in twins]
    for inner, outer in _list_contained(known, rest, similarity, with_common):
        twins.setdefault(rest[outer], known[inner])
    return twins


def _list_contained(
    inner: Sequence[str], outer: Sequence[str], similarity: float, with_common: bool
) -> Iterator[tuple[int, int]]:
    """Yield (inner, outer) texts, as numbers, where the outer one has the inner's n-grams.

    It has `similarity` of them, and is another text.
    """
    compact_inner = [text.replace(" ", "") for text in inner]
    compact_outer = [text.replace(" ", "") for text in outer]
    for inners, outers in _list_candidates(compact_inner, compact_outer, with_common):
        ours, theirs = _count_pairs(compact_inner, inners, compact_outer, outers)
        num_shared = np.asarray(ours.multiply(theirs).sum(axis=1)).ravel()
        is_contained = num_shared >= similarity * np.diff(ours.indptr)
        for one, other in zip(inners[is_contained], outers[is_contained], strict=True):
            if compact_inner[one] != compact_outer[other]:
                yield int(one), int(other)


def _count_pairs(
    inner: Sequence[str], inners: np.ndarray, outer: Sequence[str], outers: np.ndarray
) -> tuple["csr_matrix", "csr_matrix"]:
    """Return the n-grams of pairs of texts: matrices [pairs, n-grams] of the inner and the outer.

    A pair is the numbers of two texts; texts without a pair are not counted.
    """
    inner_numbers, ours = np.unique(inners, return_inverse=True)
    outer_numbers, theirs = np.unique(outers, return_inverse=True)
    texts = [inner[number] for number in inner_numbers]
    texts += [outer[number] for number in outer_numbers]
    grams = count_grams(texts).matrix
    return grams[ours], grams[theirs + len(inner_numbers)]


def _list_candidates(
    inner: Sequence[str], outer: Sequence[str], with_common: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield numbers of (inner, outer) texts where the outer has most of the inner's pieces.

    All texts are without spaces; each pair of arrays has one entry for each pair of texts.
    """
    import pandas as pd

    parts = list(_hash_windows(inner, PIECE))
    if not parts or not outer:
        return
    hashes = np.concatenate([hashes for hashes, _ in parts])
    owners = np.concatenate([owners for _, owners in parts])
    num_pieces = np.bincount(owners, minlength=len(inner))
    # An outer text may lack so many: those that an exchanged word cuts, or a third.
    allowed = np.maximum(MIN_PIECES - 1, num_pieces // 3)
    index = _build_index(hashes, owners, allowed, with_common)
    num_needed = num_pieces
    if with_common:  # of which nobody looks whether all are shared
        num_needed = np.bincount(index.owners[index.is_rare], minlength=len(inner))
    for windows, outer_owners in _hash_windows(outer, 1):
        numbers, places = index.find(windows)
        keys = index.owners[places] * len(outer) + outer_owners[numbers]
        inverse, pairs = pd.factorize(keys, sort=True)
        num_shared = np.bincount(inverse, index.is_rare[places], minlength=len(pairs))
        inners = pairs // len(outer)
        is_likely = num_shared >= num_needed[inners] - allowed[inners]
        likely = pairs[is_likely & (num_pieces[inners] >= MIN_PIECES)]
        for start in range(0, len(likely), CHUNK_PAIRS):
            yield np.divmod(likely[start : start + CHUNK_PAIRS], len(outer))


@dataclass(frozen=True)
class _PieceIndex:
    """The pieces of the inner texts, sorted by hash."""

    hashes: np.ndarray
    owners: np.ndarray  # numbers of inner texts
    is_rare: np.ndarray  # whether at most MAX_OWNERS texts have it

    @cached_property
    def _present(self) -> np.ndarray:
        present = np.zeros(1 << FILTER_BITS, dtype=bool)
        present[self.hashes >> np.uint64(64 - FILTER_BITS)] = True
        return present

    @cached_property
    def _draw(self) -> np.random.Generator:
        """What is drawn follows from the texts alone: asked again, the answer is the same."""
        return np.random.default_rng(int(np.bitwise_xor.reduce(self.hashes)))

    def find(self, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of equal pieces: the number of a window, and a place in the index.

        A window gets all places of a piece that is rare, else some of them.
        """
        likely = np.flatnonzero(self._present[windows >> np.uint64(64 - FILTER_BITS)])
        first = np.searchsorted(self.hashes, windows[likely])
        counts = np.searchsorted(self.hashes, windows[likely], side="right") - first
        taken = np.where(counts > MAX_OWNERS, NUM_DRAWN, counts)
        starts = np.repeat(first, taken)
        sizes = np.repeat(counts, taken)
        steps = np.arange(taken.sum()) - np.repeat(np.cumsum(taken) - taken, taken)
        drawn = self._draw.integers(sizes)
        places = starts + np.where(sizes > MAX_OWNERS, drawn, steps)
        return np.repeat(likely, taken), places


def _build_index(
    hashes: np.ndarray, owners: np.ndarray, allowed: np.ndarray, with_common: bool
) -> _PieceIndex:
    """Sort the rare pieces, and those that many have of texts that none of the rare ones may find.

    Such a text has no more rare pieces than the `allowed` [texts] that another one may lack.
    """
    order = np.argsort(hashes, kind="stable")
    hashes, owners = hashes[order], owners[order]
    starts = np.flatnonzero(np.diff(hashes, prepend=~hashes[:1]) != 0)
    counts = np.diff(starts, append=len(hashes))
    is_rare = np.repeat(counts <= MAX_OWNERS, counts)
    num_rare = np.bincount(owners[is_rare], minlength=len(allowed))
    is_needed = is_rare | (with_common & (num_rare <= allowed)[owners])
    return _PieceIndex(hashes[is_needed], owners[is_needed], is_rare[is_needed])


def _hash_windows(texts: Sequence[str], step: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield hashes of PIECE characters at every `step`-th place of each text, and its number.

    Both are arrays [places], for a chunk of texts at a time.
    """
    for part in cut_texts(texts):
        hashes, owners = _hash_chunk(texts[part], step)
        yield hashes, owners + part.start


def _hash_chunk(texts: Sequence[str], step: int) -> tuple[np.ndarray, np.ndarray]:
    raw = "".join(texts).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(raw, dtype=np.uint32).astype(np.uint64)
    lengths = np.array([len(text) for text in texts])
    owners = np.repeat(np.arange(len(texts)), lengths)
    offsets = np.arange(len(codes)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    num_windows = max(0, len(codes) - PIECE + 1)
    hashes = np.zeros(num_windows, dtype=np.uint64)
    for place in range(PIECE):
        hashes = (hashes + codes[place : place + num_windows]) * HASH_BASE
        hashes ^= hashes >> np.uint64(32)
    is_whole = owners[:num_windows] == owners[len(codes) - num_windows :]
    is_wanted = is_whole & (offsets[:num_windows] % step == 0)
    return hashes[is_wanted], owners[:num_windows][is_wanted]
