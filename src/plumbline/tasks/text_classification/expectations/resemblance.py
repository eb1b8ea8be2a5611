"""Texts that resemble another one, though few of their n-grams agree: a word was exchanged, or one
text holds the other.

Short texts on one subject do so by chance, in every split alike. What counts is therefore how many
more do so across two splits than within one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from plumbline.tasks.text_classification.expectations.exchanges import find_exchanged
from plumbline.tasks.text_classification.expectations.grams import count_grams
from plumbline.tasks.text_classification.expectations.recent_answers import keep_recent
from plumbline.tasks.text_classification.expectations.text_chunks import (
    ListedTexts,
    Texts,
    cut_texts,
    merge_first,
)

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


def find_resembling(known: Texts, checked: Sequence[str], similarity: float) -> dict[str, str]:
    """Map texts of `checked` to the first text of `known` that they resemble and do not equal.

    All are in the comparison form, with spaces. Two texts of MIN_WORDS or more resemble each other
    if they differ in one word or in the order of words; others if one has at least MIN_PIECES
    pieces and the other one holds `similarity` of its character n-grams. Texts that share nothing
    but pieces that many have are not compared.

    The known texts are read a few times, a chunk at a time.
    """
    return dict(_find_resembling(known, checked, similarity))


def find_all_resembling(
    known: Sequence[str], checked: Sequence[str], similarity: float
) -> dict[str, str]:
    """Do as `find_resembling`, and compare some of the texts that share only common pieces.

    All texts are in memory.
    """
    return dict(_find_all_resembling(ListedTexts(known), checked, similarity))


@keep_recent(6)  # the selftest asks about the same two splits dozens of times
def _find_resembling(known: Texts, checked: Sequence[str], similarity: float) -> dict[str, str]:
    twins = find_exchanged(known, checked)
    rest = [text for text in checked if text not in twins]
    twins |= _find_holding(rest, known, similarity, with_common=False)
    rest = [text for text in rest if text not in twins]
    return twins | _find_held(known, rest, similarity)


@keep_recent(6)
def _find_all_resembling(
    known: ListedTexts, checked: Sequence[str], similarity: float
) -> dict[str, str]:
    twins = find_exchanged(known, checked)
    rest = [text for text in checked if text not in twins]
    twins |= _find_holding(rest, known, similarity, with_common=True)
    index = _index_pieces(known.texts, with_common=True)
    for _, chunk in cut_texts(text for text in rest if text not in twins):
        for inner, outer in _list_held(index, similarity, chunk):
            twins.setdefault(outer, inner)
    return twins


def _find_holding(
    inner: Sequence[str], outer: Texts, similarity: float, *, with_common: bool
) -> dict[str, str]:
    """Map inner texts to the first outer one that holds them; the inner ones are indexed."""
    index = _index_pieces(inner, with_common)
    return outer.fold(partial(_map_held, index, similarity), merge_first, {})


def _map_held(index: "_PieceIndex", similarity: float, outer: list[str]) -> dict[str, str]:
    """Map inner texts to the first of these outer texts that holds them."""
    twins: dict[str, str] = {}
    for text, twin in _list_held(index, similarity, outer):
        twins.setdefault(text, twin)
    return twins


def _list_held(
    index: "_PieceIndex", similarity: float, outer: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield inner texts, in order, each with an outer one that holds it, in order."""
    for pairs in _list_candidates(index, outer):
        yield from _keep_contained(pairs, similarity)


def _find_held(known: Texts, outer: Sequence[str], similarity: float) -> dict[str, str]:
    """Map outer texts to the first of `known` that they hold; here the outer ones are indexed.

    Only pieces that are rare among the known texts count.
    """
    windows = _index_windows(outer, _find_rare_pieces(known, outer))
    return known.fold(partial(_map_holding, windows, outer, similarity), merge_first, {})


def _map_holding(
    windows: "_WindowIndex", outer: Sequence[str], similarity: float, inner: list[str]
) -> dict[str, str]:
    """Map outer texts to the first of these inner texts that they hold."""
    twins: dict[str, str] = {}
    for pairs in _list_rare_candidates(windows, outer, inner):
        for twin, text in _keep_contained(pairs, similarity):
            twins.setdefault(text, twin)
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


def _list_candidates(index: "_PieceIndex", outer: list[str]) -> Iterator[_Pairs]:
    """Yield pairs where the outer text has most of the inner's pieces.

    Pieces are those of texts without spaces.
    """
    import pandas as pd

    windows, owners = _hash_chunk(outer, 1)
    numbers, places = index.find(windows, owners)
    keys = index.owners[places] * len(outer) + owners[numbers]
    inverse, pairs = pd.factorize(keys, sort=True)
    num_shared = np.bincount(inverse, index.is_rare[places], minlength=len(pairs))
    inners = pairs // len(outer)
    is_likely = num_shared >= index.num_needed[inners]
    likely = pairs[is_likely & (index.num_pieces[inners] >= MIN_PIECES)]
    yield from _cut_pairs(index.texts, outer, likely)


def _list_rare_candidates(
    windows: "_WindowIndex", outer: Sequence[str], inner: list[str]
) -> Iterator[_Pairs]:
    """Do as `_list_candidates` with the windows of the outer texts."""
    pieces, owners = _hash_chunk(inner, PIECE)
    num_pieces = np.bincount(owners, minlength=len(inner))
    first = np.searchsorted(windows.hashes, pieces)
    counts = np.searchsorted(windows.hashes, pieces, side="right") - first
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    places = np.repeat(first, counts) + steps
    keys = np.repeat(owners, counts) * len(outer) + windows.owners[places]
    pairs, num_shared = np.unique(keys, return_counts=True)
    inners = pairs // len(outer)
    is_likely = num_shared >= (num_pieces - _count_allowed(num_pieces))[inners]
    likely = pairs[is_likely & (num_pieces[inners] >= MIN_PIECES)]
    yield from _cut_pairs(inner, outer, likely)


def _find_rare_pieces(known: Texts, outer: Sequence[str]) -> np.ndarray:
    """Return the hashes, sorted, of what few known texts have as a piece, and an outer one at all.

    Few are at most MAX_OWNERS.
    """
    parts = [np.zeros(0, dtype=np.uint64)]
    parts += [np.unique(_hash_chunk(chunk, 1)[0]) for _, chunk in cut_texts(outer)]
    windows = np.unique(np.concatenate(parts))
    none = np.zeros(len(windows), dtype=np.int64)
    counts = known.fold(partial(_count_pieces, windows), np.add, none)
    return windows[(counts > 0) & (counts <= MAX_OWNERS)]


def _count_pieces(windows: np.ndarray, texts: list[str]) -> np.ndarray:
    """Return how many pieces of texts have each of these hashes [windows]."""
    pieces, _ = _hash_chunk(texts, PIECE)
    places = np.searchsorted(windows, pieces[np.isin(pieces, windows)])
    return np.bincount(places, minlength=len(windows))


@dataclass(frozen=True)
class _WindowIndex:
    """Windows of the outer texts, sorted by hash, and the number of the text of each."""

    hashes: np.ndarray
    owners: np.ndarray


def _index_windows(texts: Sequence[str], wanted: np.ndarray) -> _WindowIndex:
    """Return those windows of the texts that are `wanted`."""
    hashes = [np.zeros(0, dtype=np.uint64)]
    owners = [np.zeros(0, dtype=np.int64)]
    for first, chunk in cut_texts(texts):
        windows, own = _hash_chunk(chunk, 1)
        is_wanted = np.isin(windows, wanted)
        hashes.append(windows[is_wanted])
        owners.append(own[is_wanted] + first)
    all_hashes = np.concatenate(hashes)
    order = np.argsort(all_hashes, kind="stable")
    return _WindowIndex(all_hashes[order], np.concatenate(owners)[order])


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
    """Inner texts, and their pieces, sorted by hash."""

    texts: Sequence[str]
    num_pieces: np.ndarray  # [texts]
    num_needed: np.ndarray  # [texts] of its rare pieces, those that an outer text has to have
    hashes: np.ndarray  # [pieces]
    owners: np.ndarray  # [pieces] numbers of texts
    is_rare: np.ndarray  # [pieces] whether at most MAX_OWNERS texts have it

    @cached_property
    def _present(self) -> np.ndarray:
        present = np.zeros(1 << FILTER_BITS, dtype=bool)
        present[self.hashes >> np.uint64(64 - FILTER_BITS)] = True
        return present

    def find(self, windows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of equal pieces: the number of a window, and a place in the index.

        A window gets all places of a piece that is rare, else some of them, drawn by the window and
        its text (`owners`, sorted) alone: asked again, the answer is the same.
        """
        likely = np.flatnonzero(self._present[windows >> np.uint64(64 - FILTER_BITS)])
        first = np.searchsorted(self.hashes, windows[likely])
        counts = np.searchsorted(self.hashes, windows[likely], side="right") - first
        taken = np.where(counts > MAX_OWNERS, NUM_DRAWN, counts)
        steps = np.arange(taken.sum()) - np.repeat(np.cumsum(taken) - taken, taken)
        places = np.repeat(first, taken) + steps
        is_drawn = np.repeat(counts > MAX_OWNERS, taken)
        sizes = np.repeat(counts, taken)[is_drawn].astype(np.uint64)
        seeds = (windows ^ _digest_owners(windows, owners))[np.repeat(likely, taken)[is_drawn]]
        drawn = _mix(seeds + steps[is_drawn].astype(np.uint64)) % sizes
        places[is_drawn] += drawn.astype(np.int64) - steps[is_drawn]
        return np.repeat(likely, taken), places


def _digest_owners(windows: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Return for each window a number that follows from all windows of its text."""
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    if not len(starts):
        return windows
    digests = np.add.reduceat(windows, starts)
    return np.repeat(digests, np.diff(starts, append=len(windows)))


def _index_pieces(texts: Sequence[str], with_common: bool) -> _PieceIndex:
    """Index the rare pieces, and those that many have of texts that none of the rare ones may find.

    Such a text has no more rare pieces than another one may lack. Nobody looks whether all of its
    common ones are shared.
    """
    parts = [(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)), *_hash_pieces(texts)]
    hashes = np.concatenate([hashes for hashes, _ in parts])
    owners = np.concatenate([owners for _, owners in parts])
    num_pieces = np.bincount(owners, minlength=len(texts))
    allowed = _count_allowed(num_pieces)
    order = np.argsort(hashes, kind="stable")
    hashes, owners = hashes[order], owners[order]
    starts = np.flatnonzero(np.diff(hashes, prepend=~hashes[:1]) != 0)
    counts = np.diff(starts, append=len(hashes))
    is_rare = np.repeat(counts <= MAX_OWNERS, counts)
    num_rare = np.bincount(owners[is_rare], minlength=len(texts))
    is_kept = is_rare | (with_common & (num_rare <= allowed)[owners])
    num_needed = (num_rare if with_common else num_pieces) - allowed
    return _PieceIndex(
        texts, num_pieces, num_needed, hashes[is_kept], owners[is_kept], is_rare[is_kept]
    )


def _hash_pieces(texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
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
        hashes = _mix(hashes + codes[place : place + num_windows])
    is_whole = owners[:num_windows] == owners[len(codes) - num_windows :]
    is_wanted = is_whole & (offsets[:num_windows] % step == 0)
    return hashes[is_wanted], owners[:num_windows][is_wanted]


def _mix(values: np.ndarray) -> np.ndarray:
    mixed = values * HASH_BASE
    return mixed ^ (mixed >> np.uint64(32))


def _join_words(text: str) -> str:
    return text.replace(" ", "")
