"""Behavioural tests of the winner: invariance, direction and minimum-function cases.

The method is that of Ribeiro et al. 2020. The cases come from the examples: the TF-IDF of its
training texts shows what is typical of a class. So they need no list of words, and they work for
a user's own labels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.records import Case
from plumbline.contract.task import Predictor
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.scoring.scores import collect_answers

NUM_TEXTS = 200
TEXTS_PER_CLASS = 3
MAX_FAILURES = 8
MAX_FEATURES = 20_000


@dataclass(frozen=True)
class ClassProfiles:
    """What is typical of each class in the training texts."""

    names: list[str]
    centroids: np.ndarray  # [K, features], rows of unit length
    vectorizer: Any
    phrases: list[str]  # of each class, the 2- or 3-gram that other classes have least


def check_behaviour(params: TextParams, examples: Path, predictor: Predictor) -> list[Case]:
    """Run every behavioural test of `predictor` on held-out texts of the test split."""
    rows = read_split(examples, "test", ["text", "label"])
    texts = rows["text"].to_pylist()
    labels = rows["label"].to_pylist()
    sample = _sample_evenly(texts, NUM_TEXTS)
    profiles = _build_profiles(examples)

    def check(name: str, change: Callable[[str], str]) -> Case:
        return _check_invariance(name, sample, change, predictor, profiles)

    return [
        check("typo: two neighbouring letters swapped", swap_letters),
        check("case: written in capitals", str.upper),
        check(
            "whitespace and punctuation: doubled blanks, no marks at the end",
            double_spaces,
        ),
        _check_typical_texts(texts, labels, predictor, profiles),
        _check_direction(sample, predictor, profiles),
    ]


def swap_letters(text: str) -> str:
    """Swap the two middle letters of the longest word, but never its first letter.

    A text without a word of four letters stays as it is.
    """
    words = text.split(" ")
    longest = max(range(len(words)), key=lambda i: len(words[i]))
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
    before = collect_answers(predictor, texts, num_classes).labels
    changed = [change(text) or text for text in texts]
    after = collect_answers(predictor, changed, num_classes).labels
    failures = []
    for text, old, new in zip(changed, before, after, strict=True):
        if new != old:
            failures.append(f"{old} became {new}: {_shorten(text)}")
    return _build_case(f"{name}, the label stays", "invariance", failures, len(texts))


def _check_typical_texts(
    texts: list[str], labels: list[str], predictor: Predictor, profiles: ClassProfiles
) -> Case:
    """Check the held-out text of each class that is most similar to its training texts.

    A class is left out if every such text is more similar to another class.
    """
    typical = _find_typical_texts(texts, labels, profiles)
    if not typical:
        return _build_case("the most typical text of each class", "minimum", [], 0)
    answers = collect_answers(predictor, list(typical.values()), len(profiles.names))
    failures = []
    for (name, text), label in zip(typical.items(), answers.labels, strict=True):
        if label != name:
            failures.append(f"{name} was taken for {label}: {_shorten(text)}")
    name = "the most typical text of each class is known"
    return _build_case(name, "minimum", failures, len(typical))


def _find_typical_texts(
    texts: list[str], labels: list[str], profiles: ClassProfiles
) -> dict[str, str]:
    """Map each class to the text that is most similar to its training texts, if there is one."""
    similarity = np.asarray(profiles.vectorizer.transform(texts) @ profiles.centroids.T)
    nearest = similarity.argmax(axis=1)
    typical = {}
    for index, name in enumerate(profiles.names):
        rows = [row for row, label in enumerate(labels) if label == name and nearest[row] == index]
        if rows:
            typical[name] = texts[rows[int(similarity[rows, index].argmax())]]
    return typical


def _check_direction(texts: list[str], predictor: Predictor, profiles: ClassProfiles) -> Case:
    """Check that a phrase peculiar to a class makes that class more probable.

    The phrase is added to texts that were taken for another class.
    """
    num_classes = len(profiles.names)
    before = collect_answers(predictor, texts, num_classes)
    picked = _pick_texts_of_others(before.labels, profiles)
    if not picked:
        return _build_case("a phrase peculiar to a class", "direction", [], 0)
    longer = []
    for row, index in picked:
        longer.append(f"{texts[row].rstrip()} {profiles.phrases[index]}")
    after = collect_answers(predictor, longer, num_classes)
    columns = {name: column for column, name in enumerate(before.names)}
    failures = []
    for number, (row, index) in enumerate(picked):
        name = profiles.names[index]
        old = before.probabilities[row, columns[name]]
        new = after.probabilities[number, columns[name]]
        if new <= old:
            failures.append(f"{name} fell from {old:.4f} to {new:.4f}: {_shorten(longer[number])}")
    name = "a phrase peculiar to a class makes it more probable"
    return _build_case(name, "direction", failures, len(picked))


def _pick_texts_of_others(labels: np.ndarray, profiles: ClassProfiles) -> list[tuple[int, int]]:
    """Pick up to TEXTS_PER_CLASS texts for each class that got another label: (row, class)."""
    picked = []
    for index, name in enumerate(profiles.names):
        others = [row for row, label in enumerate(labels) if label != name]
        start = index * TEXTS_PER_CLASS
        for i in range(min(TEXTS_PER_CLASS, len(others))):
            picked.append((others[(start + i) % len(others)], index))
    return picked


def _build_profiles(examples: Path) -> ClassProfiles:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    rows = read_split(examples, "train", ["text", "label"])
    labels = np.array(rows["label"].to_pylist(), dtype=object)
    names = sorted(set(labels))
    words = r"\S+"  # what is between blanks, so that only a blank text has no word
    vectorizer = TfidfVectorizer(
        token_pattern=words, ngram_range=(1, 3), max_features=MAX_FEATURES, sublinear_tf=True
    )
    features = vectorizer.fit_transform(rows["text"].to_pylist())
    means = [np.asarray(features[labels == name].mean(axis=0)).ravel() for name in names]
    centroids = normalize(np.stack(means))
    terms = vectorizer.get_feature_names_out()
    has_blank = np.array([" " in term for term in terms])
    phrases = []
    for index in range(len(names)):
        phrases.append(_find_typical_phrase(centroids, index, terms, has_blank))
    return ClassProfiles(names, centroids, vectorizer, phrases)


def _find_typical_phrase(
    centroids: np.ndarray, index: int, terms: np.ndarray, has_blank: np.ndarray
) -> str:
    """Return the term of several words that a class has more than the others; else any term."""
    others = np.delete(centroids, index, axis=0)
    excess = centroids[index] - (others.max(axis=0) if len(others) else 0)
    if has_blank.any():
        excess = np.where(has_blank, excess, -np.inf)
    return str(terms[np.argmax(excess)])


def _sample_evenly(texts: list[str], count: int) -> list[str]:
    """Take `count` texts evenly over the split, so that a sorted split gives no biased sample."""
    positions = np.linspace(0, len(texts) - 1, min(count, len(texts)))
    return [texts[i] for i in np.unique(positions.astype(int))]


def _build_case(name: str, kind: Any, failures: list[str], total: int) -> Case:
    return Case(name, kind, total - len(failures), total, tuple(failures[:MAX_FAILURES]))


def _shorten(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."
