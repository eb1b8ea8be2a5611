"""Behavioural tests of the winner: invariance, direction and minimum-function cases.

The method is that of Ribeiro et al. 2020. The cases come from the examples: the TF-IDF of its
training texts shows what is typical of a class. So they need no list of words, and they work for
a user's own labels.

A case is asked only where a sound model can be expected to know it: a change must change the text,
a phrase must be frequent in its class and rare elsewhere, and it is put in front, where a model
that reads the first tokens alone reads it. A test of fewer than MIN_CASES cases tells nothing and
has none.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.records import Case
from plumbline.contract.task import Predictor
from plumbline.tasks.text_classification.data import read_label_sets, read_split
from plumbline.tasks.text_classification.data.words import count_words
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.scoring.class_profiles import (
    ClassProfiles,
    build_profiles,
)
from plumbline.tasks.text_classification.scoring.scores import collect_answers

NUM_TEXTS = 200
MIN_CASES = 5  # of one test; with fewer, one odd text decides
WANTED_CASES = 12
TEXTS_PER_CLASS = 3  # more where classes are so few that there would not be WANTED_CASES
MIN_SIMILARITY = 0.2  # cosine, to its class: a text with less in common is not typical of it
MIN_LEAD = 1.2  # how many times as similar to its class as to any other: else it is of neither
MIN_WORDS = 4  # of a text that a typing error is put into: a shorter one can lose its only word
NUM_READ_WORDS = 12  # that a model reads even where it reads few tokens
MAX_FAILURES = 8


def check_behaviour(params: TextParams, examples: Path, predictor: Predictor) -> list[Case]:
    """Run every behavioural test of `predictor` on held-out texts of the test split."""
    texts = read_split(examples, "test", ["text"])["text"].to_pylist()
    labels = read_label_sets(examples, "test")
    sample = _sample_evenly(texts, NUM_TEXTS)
    profiles = build_profiles(examples)

    def check(name: str, change: Callable[[str], str]) -> Case:
        return _check_invariance(name, sample, change, predictor, profiles)

    return [
        check("typo: two neighbouring letters swapped", swap_letters_of_long_text),
        check("case: written in capitals", str.upper),
        check(
            "whitespace and punctuation: doubled blanks, no marks at the end",
            double_spaces,
        ),
        _check_typical_texts(texts, labels, predictor, profiles),
        _check_direction(sample, predictor, profiles),
    ]


def swap_letters_of_long_text(text: str) -> str:
    """Swap two letters of a text of at least MIN_WORDS words; a shorter one stays as it is."""
    return swap_letters(text) if count_words(text) >= MIN_WORDS else text


def swap_letters(text: str) -> str:
    """Swap the two middle letters of the longest word, but never its first letter.

    It is one of the first words, where every model reads it: an error in what is not read changes
    no answer. A text without a word of four letters there stays as it is.
    """
    words = text.split(" ")
    longest = max(range(len(words[:NUM_READ_WORDS])), key=lambda i: len(words[i]))
    word = words[longest]
    if len(word) < 4:
        return text
    middle = len(word) // 2
    words[longest] = word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
    return " ".join(words)


def double_spaces(text: str) -> str:
    """Double every blank, and drop the punctuation marks at the end."""
    return "  ".join(text.split(" ")).rstrip(" .!?")


def _check_invariance(
    name: str,
    texts: list[str],
    change: Callable[[str], str],
    predictor: Predictor,
    profiles: ClassProfiles,
) -> Case:
    num_classes = len(profiles.names)
    texts = [text for text in texts if change(text) not in ("", text)]
    name = f"{name}, the label stays"
    if not texts:
        return _build_case(name, "invariance", [], 0)
    before = collect_answers(predictor, texts, num_classes).labels
    changed = [change(text) for text in texts]
    after = collect_answers(predictor, changed, num_classes).labels
    failures = []
    for text, old, new in zip(changed, before, after, strict=True):
        if new != old:
            failures.append(f"{old} became {new}: {_shorten(text)}")
    return _build_case(name, "invariance", failures, len(texts))


def _check_typical_texts(
    texts: list[str],
    labels: list[tuple[str, ...]],
    predictor: Predictor,
    profiles: ClassProfiles,
) -> Case:
    """Check the held-out texts of each class that are most similar to its training texts.

    A class is left out if no text has much in common with it, or each has about as much, or more,
    with another class.
    """
    name = "the most typical texts of each class are known"
    typical = _find_typical_texts(texts, labels, profiles)
    if not typical:
        return _build_case(name, "minimum", [], 0)
    answers = collect_answers(predictor, [text for _, text in typical], len(profiles.names))
    failures = []
    for (expected, text), label, labels_given in zip(
        typical, answers.labels, answers.label_sets, strict=True
    ):
        if expected not in labels_given:
            failures.append(f"{expected} was taken for {label}: {_shorten(text)}")
    return _build_case(name, "minimum", failures, len(typical))


def _find_typical_texts(
    texts: list[str], labels: list[tuple[str, ...]], profiles: ClassProfiles
) -> list[tuple[str, str]]:
    """Return pairs of class and text: those most similar to the training texts of their class."""
    similarity = np.asarray(profiles.vectorizer.transform(texts) @ profiles.centroids.T)
    nearest = _find_nearest_classes(similarity)
    count = max(1, -(-WANTED_CASES // len(profiles.names)))
    typical = []
    for index, name in enumerate(profiles.names):
        rows = [row for row, own in enumerate(labels) if name in own and nearest[row] == index]
        rows.sort(key=lambda row: -similarity[row, index])
        typical += [(name, texts[row]) for row in rows[:count]]
    return typical


def _find_nearest_classes(similarity: np.ndarray) -> np.ndarray:
    """Return of which class each text is typical, -1 for none; `similarity` is [texts, classes]."""
    highest = similarity.max(axis=1)
    is_typical = highest >= MIN_SIMILARITY
    if similarity.shape[1] > 1:
        second = np.partition(similarity, -2, axis=1)[:, -2]
        is_typical &= highest >= MIN_LEAD * second
    nearest: np.ndarray = np.where(is_typical, similarity.argmax(axis=1), -1)
    return nearest


def _check_direction(texts: list[str], predictor: Predictor, profiles: ClassProfiles) -> Case:
    """Check that a phrase peculiar to a class makes that class more probable.

    The phrase is put in front of texts that were taken for another class.
    """
    title = "a phrase peculiar to a class makes it more probable"
    num_classes = len(profiles.names)
    before = collect_answers(predictor, texts, num_classes)
    columns = {name: column for column, name in enumerate(before.names)}
    longer = []
    expected = []
    for name, phrase in zip(profiles.names, profiles.phrases, strict=True):
        if phrase is None:
            continue
        old = before.probabilities[:, columns[name]]
        is_other = np.array([name not in labels for labels in before.label_sets])
        for row in _pick_texts_of_others(is_other, old, num_classes):
            longer.append(f"{phrase} {texts[row]}")
            expected.append((name, old[row]))
    if not longer:
        return _build_case(title, "direction", [], 0)
    after = collect_answers(predictor, longer, num_classes).probabilities
    failures = []
    for row, (name, old_value) in enumerate(expected):
        new_value = after[row, columns[name]]
        if new_value <= old_value:
            change = f"{name} fell from {old_value:.4f} to {new_value:.4f}"
            failures.append(f"{change}: {_shorten(longer[row])}")
    return _build_case(title, "direction", failures, len(longer))


def _pick_texts_of_others(
    is_other: np.ndarray, probabilities: np.ndarray, num_classes: int
) -> list[int]:
    """Pick some rows that got another label: those on which the class is most probable.

    So no text is at the end of the scale, where nothing can be said of its direction.
    """
    count = max(TEXTS_PER_CLASS, -(-WANTED_CASES // num_classes))
    ranked = np.argsort(-probabilities, kind="stable")
    return [int(row) for row in ranked if is_other[row]][:count]


def _sample_evenly(texts: list[str], count: int) -> list[str]:
    """Take `count` texts evenly over the split, so that a sorted split gives no biased sample."""
    positions = np.linspace(0, len(texts) - 1, min(count, len(texts)))
    return [texts[i] for i in np.unique(positions.astype(int))]


def _build_case(name: str, kind: Any, failures: list[str], total: int) -> Case:
    """Build the result of one test; one of fewer than MIN_CASES cases counts as not asked."""
    if total < MIN_CASES:
        return Case(name, kind, 0, 0, ())
    return Case(name, kind, total - len(failures), total, tuple(failures[:MAX_FAILURES]))


def _shorten(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."
