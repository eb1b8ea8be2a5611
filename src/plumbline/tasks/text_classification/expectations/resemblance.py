"""Texts that resemble another one, though few of their n-grams agree: a word was exchanged, or one
text holds the other.

Short texts on one subject do so by chance, in every split alike. What counts is therefore how many
more do so across two splits than within one.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from plumbline.tasks.text_classification.expectations.grams import count_grams

PIECE = 12  # characters without spaces; an exchanged word cuts at most two pieces
MIN_PIECES = 3
MIN_WORDS = 6  # in shorter texts one word is most of the meaning
MAX_WORDS = 40  # in longer ones an exchanged word leaves nearly all n-grams as they were
MAX_OWNERS = 20  # a piece of more texts than these is a phrase that everybody uses
HASH_BASE = np.uint64(0x9E3779B97F4A7C15)
FILTER_BITS = 22
CHUNK_CHARACTERS = 1_000_000
CHUNK_PAIRS = 100_000


def find_resembling(
    known: Sequence[str], checked: Sequence[str], similarity: float
) -> dict[str, str]:
    """Map texts of `checked` to a text of `known` that they resemble, and are not equal to.

    All are in the comparison form, with spaces. Two texts of MIN_WORDS or more resemble each other
    if they differ in one word or in the order of words; others if one has at least MIN_PIECES
    pieces and the other one holds `similarity` of its character n-grams.
    """
    return dict(_find_resembling(tuple(known), tuple(checked), similarity))


@lru_cache(maxsize=4)  # the selftest asks about the same two splits dozens of times
def _find_resembling(
    known: tuple[str, ...], checked: tuple[str, ...], similarity: float
) -> dict[str, str]:
    twins = _find_exchanged(known, checked)
    rest = [text for text in checked if text not in twins]
    for inner, outer in _list_contained(rest, known, similarity):
        twins.setdefault(rest[inner], known[outer])
    rest = [text for text in rest if text not in twins]
    for inner, outer in _list_contained(known, rest, similarity):
        twins.setdefault(rest[outer], known[inner])
    return twins


def _find_exchanged(known: Sequence[str], checked: Sequence[str]) -> dict[str, str]:
    """Map texts of `checked` to a text of `known` with one other word, or in another order."""
    owners: defaultdict[int, list[str]] = defaultdict(list)
    for text in checked:
        for key in _hash_gaps(text):
            owners[key].append(text)
    twins: dict[str, str] = {}
    for twin in known:
        for key in _hash_gaps(twin):
            waiting = owners.pop(key, [])
            for text in waiting:
                if text != twin:
                    twins.setdefault(text, twin)
            # Who has a twin needs no other one: else all pairs of one template would be walked.
            if twin in waiting:
                owners[key] = [twin]
    return twins


def _hash_gaps(text: str) -> list[int]:
    """Return a hash of the text for each of its words, with a gap in place of the word.

    One more is that of all its words, whatever their order.
    """
    words = text.split()
    if len(words) < MIN_WORDS:
        return []
    keys = [hash(("", *sorted(words)))]
    if len(words) <= MAX_WORDS:
        keys += [hash((*words[:gap], "", *words[gap + 1 :])) for gap in range(len(words))]
    return keys


def _list_contained(
    inner: Sequence[str], outer: Sequence[str], similarity: float
) -> Iterator[tuple[int, int]]:
    """Yield (inner, outer) texts, as numbers, where the outer one has the inner's n-grams.

    It has `similarity` of them, and is another text.
    """
    compact_inner = [text.replace(" ", "") for text in inner]
    compact_outer = [text.replace(" ", "") for text in outer]
    grams = None
    for inners, outers in _list_candidates(compact_inner, compact_outer):
        if grams is None:
            grams = count_grams([*compact_inner, *compact_outer])
        ours, theirs = grams[inners], grams[outers + len(inner)]
        num_shared = ours.multiply(theirs).sum(axis=1)
        is_contained = np.asarray(num_shared).ravel() >= similarity * np.diff(ours.indptr)
        for one, other in zip(inners[is_contained], outers[is_contained], strict=True):
            if compact_inner[one] != compact_outer[other]:
                yield int(one), int(other)


def _list_candidates(
    inner: Sequence[str], outer: Sequence[str]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield numbers of (inner, outer) texts where the outer has most of the inner's pieces.

    All texts are without spaces; each pair of arrays has one entry for each pair of texts.
    """
    parts = list(_hash_windows(inner, PIECE))
    if not parts or not outer:
        return
    hashes = np.concatenate([hashes for hashes, _ in parts])
    owners = np.concatenate([owners for _, owners in parts])
    order = np.argsort(hashes, kind="stable")
    index = _PieceIndex(hashes[order], owners[order])
    num_pieces = np.bincount(owners, minlength=len(inner))
    for windows, outer_owners in _hash_windows(outer, 1):
        first, last = index.find(windows)
        counts = last - first
        positions = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        matches = index.owners[np.repeat(first, counts) + positions]
        keys = matches * len(outer) + np.repeat(outer_owners, counts)
        pairs, num_shared = np.unique(keys, return_counts=True)
        wanted = num_pieces[pairs // len(outer)]
        is_likely = num_shared >= wanted - np.maximum(MIN_PIECES - 1, wanted // 3)
        likely = pairs[is_likely & (wanted >= MIN_PIECES)]
        for start in range(0, len(likely), CHUNK_PAIRS):
            yield np.divmod(likely[start : start + CHUNK_PAIRS], len(outer))


@dataclass(frozen=True)
class _PieceIndex:
    """The pieces of the inner texts, sorted by hash."""

    hashes: np.ndarray
    owners: np.ndarray  # numbers of inner texts

    @cached_property
    def _present(self) -> np.ndarray:
        present = np.zeros(1 << FILTER_BITS, dtype=bool)
        present[self.hashes >> np.uint64(64 - FILTER_BITS)] = True
        return present

    def find(self, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where each window's pieces start and end; nothing for phrases of everybody."""
        first = np.zeros(len(windows), dtype=np.int64)
        last = first.copy()
        likely = np.flatnonzero(self._present[windows >> np.uint64(64 - FILTER_BITS)])
        first[likely] = np.searchsorted(self.hashes, windows[likely])
        last[likely] = np.searchsorted(self.hashes, windows[likely], side="right")
        return first, np.where(last - first > MAX_OWNERS, first, last)


def _hash_windows(texts: Sequence[str], step: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield hashes of PIECE characters at every `step`-th place of each text, and its number.

    Both are arrays [places], for about CHUNK_CHARACTERS at a time.
    """
    start, size = 0, 0
    for end, text in enumerate(texts, 1):
        size += len(text)
        if size >= CHUNK_CHARACTERS or end == len(texts):
            hashes, owners = _hash_chunk(texts[start:end], step)
            yield hashes, owners + start
            start, size = end, 0


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
