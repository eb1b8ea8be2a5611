"""The fast search for similar texts finds what comparing all pairs finds."""

import random
import tracemalloc

import pytest

from plumbline.statistics.similar_texts import Twin, find_twins

WORDS = ("red", "blue", "box", "came")


def draw_texts(num_texts: int, seed: int) -> list[str]:
    """Draw texts of few different words."""
    draw = random.Random(seed)
    texts = [" ".join(draw.choices(WORDS, k=draw.choice([5, 6, 7, 41]))) for _ in range(num_texts)]
    return list(dict.fromkeys(texts))


@pytest.mark.parametrize("similarity", [0.5, 0.8, 0.9, 1.0])
def test_the_most_similar_text_of_all_is_found(similarity: float) -> None:
    short = ["", "a", "ab", "abcabcabc", "abcabc", "\N{GRINNING FACE}bc"]
    long = draw_long_texts(41)
    copies = [text[num_gone:] for num_gone, text in enumerate(long)]
    texts = [*draw_texts(300, 2), *long, *copies, *short, "日本語のテキスト", "日本語のテキス"]
    known, checked = texts[::2], [*texts[1::2], "ab", texts[0]]
    expected = {}
    for row, one in enumerate(checked):
        closest = max(Twin(compute_jaccard(one, two), two) for two in known if two != one)
        if closest.similarity >= similarity:
            expected[row] = closest
    assert expected
    assert find_twins(checked, known, similarity) == expected
    assert find_twins([], known, similarity) == {}
    assert find_twins(checked, [], similarity) == {}


def test_long_texts_of_other_words_are_hardly_compared() -> None:
    texts = draw_long_texts(1000)
    tracemalloc.start()
    assert find_twins(texts[::4], texts, 0.8) == {}
    assert tracemalloc.get_traced_memory()[1] < 30e6
    tracemalloc.stop()


def draw_long_texts(num_texts: int) -> list[str]:
    draw = random.Random(4)
    words = [f"{draw.randrange(36**5):x}" for _ in range(80 * num_texts)]
    return [" ".join(words[start : start + 80]) for start in range(0, len(words), 80)]


def compute_jaccard(one: str, other: str) -> float:
    ours, theirs = list_grams(one), list_grams(other)
    return len(ours & theirs) / len(ours | theirs)


def list_grams(text: str) -> set[str]:
    return {text[start : start + 3] for start in range(max(1, len(text) - 2))}
