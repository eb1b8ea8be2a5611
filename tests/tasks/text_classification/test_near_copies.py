"""The fast searches for near copies list what the plain definitions list."""

import random

import pytest

from plumbline.tasks.text_classification.expectations import grams, similar_pairs
from plumbline.tasks.text_classification.expectations.exchanges import (
    MAX_WORDS,
    MIN_WORDS,
    find_exchanged,
)
from plumbline.tasks.text_classification.expectations.similar_pairs import Twin, find_twins

WORDS = ("red", "blue", "box", "came")


def draw_texts(num_texts: int, seed: int) -> list[str]:
    """Draw texts of few different words, some of them too short or too long to be compared."""
    draw = random.Random(seed)
    sizes = [MIN_WORDS - 1, MIN_WORDS, MIN_WORDS + 1, MAX_WORDS + 1]
    texts = [" ".join(draw.choices(WORDS, k=draw.choice(sizes))) for _ in range(num_texts)]
    long = texts[-1].split() * MAX_WORDS
    return list(dict.fromkeys([*texts, " ".join(long), " ".join(reversed(long))]))


def is_exchanged(one: str, other: str) -> bool:
    ours, theirs = one.split(), other.split()
    if one == other or min(len(ours), len(theirs)) < MIN_WORDS:
        return False
    if sorted(ours) == sorted(theirs):
        return True
    if len(ours) != len(theirs) or len(ours) > MAX_WORDS:
        return False
    return sum(mine != other for mine, other in zip(ours, theirs, strict=True)) == 1


def test_every_text_with_one_word_exchanged_or_another_order_is_found() -> None:
    known, checked = draw_texts(300, 0), draw_texts(300, 1)
    checked += known[:20]
    expected = {text for text in checked if any(is_exchanged(text, twin) for twin in known)}
    twins = find_exchanged(known, checked)
    assert 20 < len(expected) < len(checked)
    assert set(twins) == expected
    assert all(is_exchanged(text, twin) for text, twin in twins.items())
    assert find_exchanged([], checked) == {}
    assert find_exchanged(known, ["short"]) == {}


@pytest.mark.parametrize("similarity", [0.5, 0.8, 0.9, 1.0])
def test_the_most_similar_text_of_all_is_found(similarity: float) -> None:
    texts = [*draw_texts(300, 2), "", "a", "ab", "日本語のテキスト", "日本語のテキス"]
    known, checked = texts[::2], [*texts[1::2], "ab", texts[0]]
    expected = {}
    for row, one in enumerate(checked):
        closest = max(Twin(compute_jaccard(one, two), two) for two in known)
        if closest.similarity >= similarity:
            expected[row] = closest
    assert len(expected) > 2
    assert find_twins(checked, known, similarity) == expected
    assert find_twins([], known, similarity) == {}
    assert find_twins(checked, [], similarity) == {}


def test_twins_are_the_same_however_many_are_compared_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = draw_texts(200, 3)
    whole = find_twins(texts[::2], texts[1::2], 0.6)
    assert len(whole) > 20
    monkeypatch.setattr(similar_pairs, "CHUNK_PAIRS", 7)
    assert find_twins(texts[::2], texts[1::2], 0.6) == whole


def test_what_is_found_does_not_depend_on_the_size_of_a_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known, checked = draw_texts(200, 4), draw_texts(200, 5)
    similar = find_twins(checked, known, 0.6)
    twins = find_exchanged(known, checked)
    assert len(similar) > 20
    assert len(twins) > 20
    monkeypatch.setattr(grams, "CHUNK_CHARACTERS", 300)
    assert len(list(grams.cut_texts(known))) > 20
    assert find_twins(checked, known, 0.6) == similar
    assert find_exchanged(known, checked) == twins


def compute_jaccard(one: str, other: str) -> float:
    ours, theirs = list_grams(one), list_grams(other)
    return len(ours & theirs) / len(ours | theirs)


def list_grams(text: str) -> set[str]:
    return {text[start : start + 3] for start in range(max(1, len(text) - 2))}
