"""Texts with one word exchanged, or with the words of another one in any order and number."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from plumbline.statistics.ngrams import cut_texts

MIN_WORDS = 6  # in shorter texts one word is most of the meaning
MAX_WORDS = 40  # in longer ones an exchanged word leaves nearly all n-grams as they were
# A place in a text weighs a power of this number, modulo 2^64. It is odd, so no power is 0.
BASE = np.uint64(0x9E3779B97F4A7C15)
GAP = np.uint64(0xD1B54A32D192ED03)  # in place of a word
ORDERLESS = np.uint64(0x8CB92BA72F3D8DD7)  # of sums that do not depend on the order
DIGIT = re.compile(r"\d")


def find_exchanged(known: Iterable[str], checked: Sequence[str]) -> dict[str, str]:
    """Map texts of `checked` to the first of `known` with one other word, or with its words only.

    The checked texts are indexed, the known ones are looked up in chunks.
    """
    keys, places = _index_gaps(checked)
    twins: dict[str, str] = {}
    for _, chunk in cut_texts(known):
        twins = _find_in_chunk(checked, keys, places, chunk) | twins
    return twins


def _find_in_chunk(
    checked: Sequence[str], keys: np.ndarray, places: np.ndarray, chunk: list[str]
) -> dict[str, str]:
    owners: dict[int, list[str]] = {}  # first place of a key -> texts that have it and no twin
    twins: dict[str, str] = {}
    known_keys, known_places = _hash_gaps(chunk)
    starts = np.searchsorted(keys, known_keys)
    ends = np.searchsorted(keys, known_keys, side="right")
    is_shared = ends > starts
    shared = np.column_stack([starts, ends, known_places])[is_shared]
    for start, end, number in shared.tolist():
        twin = chunk[number]
        if start not in owners:
            owners[start] = [checked[place] for place in places[start:end]]
        waiting = owners[start]
        for text in waiting:
            if text != twin:
                twins.setdefault(text, twin)
        # Who has a twin needs no other one: else all pairs of one template would be walked.
        owners[start] = [twin] if twin in waiting else []
    return twins


def _index_gaps(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the hashes of `_hash_gaps`, sorted, with the number of the text of each."""
    keys = [np.zeros(0, dtype=np.uint64)]
    places = [np.zeros(0, dtype=np.int64)]
    for first, chunk in cut_texts(texts):
        own_keys, own_places = _hash_gaps(chunk)
        keys.append(own_keys)
        places.append(own_places + first)
    all_keys = np.concatenate(keys)
    order = np.argsort(all_keys, kind="stable")
    return all_keys[order], np.concatenate(places)[order]


def _hash_gaps(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return a hash of each text for each of its words, with a gap in place of the word.

    First comes one of all its different words, all digits being one, in no order. Both arrays
    [hashes] are in the order of the texts; the second one has the number of the text.
    """
    owners, lengths, hashes = _hash_words([text.split() for text in texts])
    starts = np.cumsum(lengths) - lengths
    places = np.arange(len(hashes)) - np.repeat(starts, lengths)
    weights = np.cumprod(np.full(lengths.max(initial=0), BASE))[places]
    totals = np.add.reduceat(hashes * weights, starts)
    gaps = np.repeat(totals, lengths) + (GAP - hashes) * weights
    is_short = np.repeat(lengths <= MAX_WORDS, lengths)
    different = [list(set(DIGIT.sub("0", text).split())) for text in texts]
    set_owners, sizes, hashes = _hash_words(different)
    orderless = np.add.reduceat(hashes, np.cumsum(sizes) - sizes) * ORDERLESS
    keys = np.concatenate([orderless, gaps[is_short]])
    key_owners = np.concatenate([set_owners, np.repeat(owners, lengths)[is_short]])
    order = np.argsort(key_owners, kind="stable")
    return keys[order], key_owners[order]


def _hash_words(words: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return numbers and lengths of the texts of MIN_WORDS or more, and hashes of their words."""
    from pandas.util import hash_array

    owners = [number for number, parts in enumerate(words) if len(parts) >= MIN_WORDS]
    lengths = np.array([len(words[number]) for number in owners], dtype=np.int64)
    listed = np.array([word for number in owners for word in words[number]], dtype=object)
    # The same in each process, which Python's own hash of a text is not.
    return np.array(owners, dtype=np.int64), lengths, hash_array(listed)
