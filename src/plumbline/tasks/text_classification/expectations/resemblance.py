"""Texts that resemble another one, though few of their n-grams agree: a word was exchanged, or one
text holds the other.

Short texts on one subject do so by chance, in every split alike. What counts is therefore how many
more do so across two splits than within one.
"""

from collections.abc import Iterable, Iterator, Sequence
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
    known: Iterable[str], checked: Sequence[str], similarity: float, with_common: bool = False
) -> dict[str, str]:
    """Map texts of `checked` to a text of `known` that they resemble, and are not equal to.

    All are in the comparison form, with spaces. Two texts of MIN_WORDS or more resemble each other
    if they differ in one word or in the order of words; others if one has at least MIN_PIECES
    pieces and the other one holds `similarity` of its character n-grams. Texts that share nothing
    but pieces that many have are compared `with_common`, and only some of them.

    The known texts are read a few times, a chunk at a time; `with_common` all are in memory.
    """
    return dict(_find_resembling(known, checked, similarity, with_common))


@keep_recent(12)  # the selftest asks about the same two splits dozens of times
def _find_resembling(
    known: Iterable[str], checked: Sequence[str], similarity: float, with_common: bool
) -> dict[str, str]:
    twins = find_exchanged(known, checked)
    rest = [text for text in checked if text not in twins]
    for pairs in _list_candidates(rest, known, with_common):
        for inner, outer in _keep_contained(pairs, similarity):
            twins.setdefault(inner, outer)
    rest = [text for text in rest if text not in twins]
    if with_common:
        candidates = _list_candidates(list(known), rest, with_common)
    else:
        candidates = _list_rare_candidates(known, rest)
    for pairs in candidates:
        for inner, outer in _keep_contained(pairs, similarity):
            twins.setdefault(outer, inner)
    return twins


@dataclass(frozen=True)
class _Pairs:
    """Pairs of texts, as their numbers in two lists: does the outer one hold the inner one?"""

    inner: Sequence[str]
    outer: Sequence[str]
    inners: np.ndarray  # [pairs]
    outers: np.ndarray  # [pairs]


def _keep_contained(pairs: _Pairs, similarity: float) -> Iterator[tuple[str, str]]:
    """Yield the pairs where the outer text has `similarity` of the inner's n-grams.

    It is another text.
    """
    ours, theirs = _count_pairs(pairs)
    num_shared = np.asarray(ours.multiply(theirs).sum(axis=1)).ravel()
    is_contained = num_shared >= similarity * np.diff(ours.indptr)
    numbers = zip(pairs.inners[is_contained], pairs.outers[is_contained], strict=True)
    for one, other in numbers:
        inner, outer = pairs.inner[one], pairs.outer[other]
        if _join_words(inner) != _join_words(outer):
            yield inner, outer


def _count_pairs(pairs: _Pairs) -> tuple["csr_matrix", "csr_matrix"]:
    """Return the n-grams of pairs of texts: matrices [pairs, n-grams] of the inner and the outer.

    Texts without a pair are not counted.
    """
    inner_numbers, ours = np.unique(pairs.inners, return_inverse=True)
    outer_numbers, theirs = np.unique(pairs.outers, return_inverse=True)
    texts = [_join_words(pairs.inner[number]) for number in inner_numbers]
    texts += [_join_words(pairs.outer[number]) for number in outer_numbers]
    grams = count_grams(texts).matrix
    return grams[ours], grams[theirs + len(inner_numbers)]


def _list_candidates(
    inner: Sequence[str], outer: Iterable[str], with_common: bool
) -> Iterator[_Pairs]:
    """Yield pairs where the outer text has most of the inner's pieces; the inner ones are indexed.

    Pieces are those of texts without spaces.
    """
    import pandas as pd

    parts = list(_hash_pieces(inner))
    if not parts:
        return
    hashes = np.concatenate([hashes for hashes, _ in parts])
    owners = np.concatenate([owners for _, owners in parts])
    num_pieces = np.bincount(owners, minlength=len(inner))
    allowed = _count_allowed(num_pieces)
    index = _build_index(hashes, owners, allowed, with_common)
    num_needed = num_pieces
    if with_common:  # of which nobody looks whether all are shared
        num_needed = np.bincount(index.owners[index.is_rare], minlength=len(inner))
    for _, chunk in cut_texts(outer):
        windows, outer_owners = _hash_chunk(chunk, 1)
        numbers, places = index.find(windows)
        keys = index.owners[places] * len(chunk) + outer_owners[numbers]
        inverse, pairs = pd.factorize(keys, sort=True)
        num_shared = np.bincount(inverse, index.is_rare[places], minlength=len(pairs))
        inners = pairs // len(chunk)
        is_likely = num_shared >= num_needed[inners] - allowed[inners]
        likely = pairs[is_likely & (num_pieces[inners] >= MIN_PIECES)]
        yield from _cut_pairs(inner, chunk, likely)


def _list_rare_candidates(inner: Iterable[str], outer: Sequence[str]) -> Iterator[_Pairs]:
    """Do as `_list_candidates` where the inner texts are many: here the outer ones are indexed.

    Only pieces that are rare among the inner texts count.
    """
    hashes, owners = _index_windows(outer, _find_rare_pieces(inner, outer))
    if not len(hashes):
        return
    for _, chunk in cut_texts(inner):
        pieces, inner_owners = _hash_chunk(chunk, PIECE)
        num_pieces = np.bincount(inner_owners, minlength=len(chunk))
        first = np.searchsorted(hashes, pieces)
        counts = np.searchsorted(hashes, pieces, side="right") - first
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(first, counts) + steps
        keys = np.repeat(inner_owners, counts) * len(outer) + owners[places]
        pairs, num_shared = np.unique(keys, return_counts=True)
        inners = pairs // len(outer)
        is_likely = num_shared >= (num_pieces - _count_allowed(num_pieces))[inners]
        likely = pairs[is_likely & (num_pieces[inners] >= MIN_PIECES)]
        yield from _cut_pairs(chunk, outer, likely)


def _find_rare_pieces(inner: Iterable[str], outer: Sequence[str]) -> np.ndarray:
    """Return the hashes, sorted, of what few inner texts have as a piece, and an outer one at all.

    Few are at most MAX_OWNERS.
    """
    parts = [np.zeros(0, dtype=np.uint64)]
    parts += [np.unique(_hash_chunk(chunk, 1)[0]) for _, chunk in cut_texts(outer)]
    windows = np.unique(np.concatenate(parts))
    counts = np.zeros(len(windows), dtype=np.int64)
    for pieces, _ in _hash_pieces(inner):
        places = np.searchsorted(windows, pieces[np.isin(pieces, windows)])
        counts += np.bincount(places, minlength=len(windows))
    return windows[(counts > 0) & (counts <= MAX_OWNERS)]


def _index_windows(texts: Sequence[str], wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the hashes of those windows that are `wanted`, sorted, and the text of each."""
    hashes = [np.zeros(0, dtype=np.uint64)]
    owners = [np.zeros(0, dtype=np.int64)]
    for first, chunk in cut_texts(texts):
        windows, own = _hash_chunk(chunk, 1)
        is_wanted = np.isin(windows, wanted)
        hashes.append(windows[is_wanted])
        owners.append(own[is_wanted] + first)
    all_hashes = np.concatenate(hashes)
    order = np.argsort(all_hashes, kind="stable")
    return all_hashes[order], np.concatenate(owners)[order]


def _count_allowed(num_pieces: np.ndarray) -> np.ndarray:
    """Return how many pieces an outer text may lack: those that an exchanged word cuts, or a third.

    `num_pieces` [texts] are those of the inner texts.
    """
    allowed: np.ndarray = np.maximum(MIN_PIECES - 1, num_pieces // 3)
    return allowed


def _cut_pairs(inner: Sequence[str], outer: Sequence[str], pairs: np.ndarray) -> Iterator[_Pairs]:
    """Yield runs of pairs; a pair is the inner text's number times the outer ones, plus its own."""
    for start in range(0, len(pairs), CHUNK_PAIRS):
        inners, outers = np.divmod(pairs[start : start + CHUNK_PAIRS], len(outer))
        yield _Pairs(inner, outer, inners, outers)


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


def _hash_pieces(texts: Iterable[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield hashes of the pieces of texts, and the number of the text of each [pieces].

    There is a pair of arrays for each chunk of texts.
    """
    for first, chunk in cut_texts(texts):
        hashes, owners = _hash_chunk(chunk, PIECE)
        yield hashes, owners + first


def _hash_chunk(texts: Sequence[str], step: int) -> tuple[np.ndarray, np.ndarray]:
    """Return hashes of PIECE characters at every `step`-th place of each text, and its number.

    Both are arrays [places]; spaces do not count.
    """
    texts = [_join_words(text) for text in texts]
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


def _join_words(text: str) -> str:
    return text.replace(" ", "")
