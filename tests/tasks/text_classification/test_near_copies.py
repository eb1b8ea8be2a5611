"""The fast search for texts a word apart lists what the plain definition lists."""

import random

import pytest

from plumbline.statistics import ngrams
from plumbline.tasks.text_classification.expectations.exchanges import (
    MAX_WORDS,
    MIN_WORDS,
    find_exchanged,
)

DIGITS = str.maketrans("123456789", "0" * 9)
WORDS = ("red", "blue", "box", "came", "on", "my", "desk", "row 12", "row 34")


def draw_texts(num_texts: int, seed: int) -> list[str]:
    """Draw texts of few different words, some of them too short or too long to be compared."""
    draw = random.Random(seed)
    sizes = range(MIN_WORDS - 1, MIN_WORDS + 3)
    texts = [" ".join(draw.choices(WORDS, k=draw.choice(sizes))) for _ in range(num_texts)]
    long = [word + end for word in WORDS for end in "abcde"]
    assert len(long) > MAX_WORDS
    return list(dict.fromkeys([*texts, " ".join(long), " ".join(reversed(long))]))


def is_exchanged(one: str, other: str) -> bool:
    ours, theirs = one.split(), other.split()
    if one == other or min(len(ours), len(theirs)) < MIN_WORDS:
        return False
    different = set(one.translate(DIGITS).split())
    if different == set(other.translate(DIGITS).split()) and len(different) >= MIN_WORDS:
        return True
    if len(ours) != len(theirs) or len(ours) > MAX_WORDS:
        return False
    return sum(mine != other for mine, other in zip(ours, theirs, strict=True)) == 1


def test_every_text_with_one_word_exchanged_or_only_the_same_words_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known, checked = draw_texts(300, 0), draw_texts(300, 1)
    checked += known[:20]
    expected = {text for text in checked if any(is_exchanged(text, twin) for twin in known)}
    twins = find_exchanged(known, checked)
    assert 20 < len(expected) < len(checked)
    assert set(twins) == expected
    assert all(is_exchanged(text, twin) for text, twin in twins.items())
    assert find_exchanged([], checked) == {}
    assert find_exchanged(known, ["short"]) == {}
    monkeypatch.setattr(ngrams, "CHUNK_CHARACTERS", 300)
    assert find_exchanged(known, checked) == twins
