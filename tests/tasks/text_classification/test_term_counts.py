"""Counts of terms: exact, also where they are too many for memory."""

import random
from collections import Counter

import pytest

from plumbline.tasks.text_classification.data import term_counts
from plumbline.tasks.text_classification.data.term_counts import TermCounter
from plumbline.tasks.text_classification.predictor import extract_grams


def draw_texts(num_texts: int) -> list[str]:
    draw = random.Random(3)
    words = ["Zoll", "été", "naïve", "請求", "order", *map(str, range(150))]
    return [" ".join(draw.choices(words, k=draw.randint(1, 6))) for _ in range(num_texts)]


@pytest.mark.parametrize("max_files", [2, 1000])
def test_counts_from_files_are_those_of_memory(
    max_files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = draw_texts(800)
    counts = Counter(gram for text in texts for gram in set(extract_grams(text)))
    best = sorted(counts, key=lambda gram: (-counts[gram], gram))[:300]
    with TermCounter() as counter:
        for text in texts:
            counter.add(set(extract_grams(text)))
        in_memory = counter.find_common(300)
    monkeypatch.setattr(term_counts, "MAX_TERMS", 100)
    monkeypatch.setattr(term_counts, "MAX_FILES", max_files)
    with TermCounter() as counter:
        for text in texts:
            counter.add(set(extract_grams(text)))
        assert counter._files
        from_files = counter.find_common(300)
    assert in_memory == from_files == {gram: counts[gram] for gram in best}
    assert list(from_files) == sorted(best)
