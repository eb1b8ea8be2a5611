"""Does the winner know the obvious? Invariance, direction and minimum-function cases (Ribeiro et al. 2020).

The cases come from the examples themselves: what is typical of a class is read off the TF-IDF of its training texts, so
that they need no list of words and hold for a user's own labels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.task import Case, Predictor
from plumbline.tasks.text_classification.data import read
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.scoring.scores import answers

NUM_TEXTS = 200
TEXTS_PER_CLASS = 3
MAX_FAILURES = 8
MAX_FEATURES = 20_000


@dataclass(frozen=True)
class Typical:
    """What the training texts say is typical of each class."""

    names: list[str]
    centroids: np.ndarray  # [K, features], rows of unit length
    vectorizer: Any
    phrases: list[str]  # the 2- or 3-gram most peculiar to each class


def behaviour(params: TextParams, examples: Path, predictor: Predictor) -> list[Case]:
    """Every behavioural test of `predictor` on held-out texts of the test split."""
    rows = read(examples, "test", ["text", "label"])
    texts, labels = rows["text"].to_pylist(), rows["label"].to_pylist()
    some = _spread(texts, NUM_TEXTS)
    typical = _typical(examples)
    return [
        _invariance("typo", "two neighbouring letters swapped", some, typo, predictor, typical),
        _invariance("case", "written in capitals", some, str.upper, predictor, typical),
        _invariance(
            "whitespace and punctuation",
            "doubled blanks, no marks at the end",
            some,
            spaced,
            predictor,
            typical,
        ),
        _obvious(texts, labels, predictor, typical),
        _direction(some, predictor, typical),
    ]


def typo(text: str) -> str:
    """Swap the two middle letters of the longest word, the first letter kept; a text without a long word stays."""
    words = text.split(" ")
    longest = max(range(len(words)), key=lambda i: len(words[i]))
    word = words[longest]
    if len(word) < 4:
        return text
    middle = len(word) // 2
    words[longest] = word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
    return " ".join(words)


def spaced(text: str) -> str:
    """Double every blank, and drop the marks at the end."""
    return "  ".join(text.split(" ")).rstrip(" .!?")


def _invariance(
    name: str,
    change: str,
    texts: list[str],
    changed: Callable[[str], str],
    predictor: Predictor,
    typical: Typical,
) -> Case:
    before, _, _ = answers(predictor, texts, len(typical.names))
    others = [changed(text) or text for text in texts]
    after, _, _ = answers(predictor, others, len(typical.names))
    failures = [
        f"{b} became {a}: {_short(t)}"
        for b, a, t in zip(before, after, others, strict=True)
        if a != b
    ]
    return _case(f"{name}: {change}, the label stays", "invariance", failures, len(texts))


def _obvious(texts: list[str], labels: list[str], predictor: Predictor, typical: Typical) -> Case:
    """The held-out text of each class that lies nearest to its training texts, if no other class lies nearer."""
    similar = np.asarray(typical.vectorizer.transform(texts) @ typical.centroids.T)
    nearest = similar.argmax(axis=1)
    cases: list[tuple[str, str]] = []
    for index, name in enumerate(typical.names):
        own = [row for row, label in enumerate(labels) if label == name and nearest[row] == index]
        if own:
            cases.append((name, texts[max(own, key=lambda row: similar[row, index])]))
    if not cases:
        return _case("the most typical text of each class", "minimum", [], 0)
    found, _, _ = answers(predictor, [text for _, text in cases], len(typical.names))
    failures = [
        f"{name} was taken for {f}: {_short(t)}"
        for (name, t), f in zip(cases, found, strict=True)
        if f != name
    ]
    return _case("the most typical text of each class is known", "minimum", failures, len(cases))


def _direction(texts: list[str], predictor: Predictor, typical: Typical) -> Case:
    """A phrase peculiar to a class, added to a text that was taken for another, makes that class more probable."""
    before_label, before, names = answers(predictor, texts, len(typical.names))
    picked: list[tuple[int, str, str]] = []
    for index, (name, phrase) in enumerate(zip(typical.names, typical.phrases, strict=True)):
        others = [row for row in range(len(texts)) if before_label[row] != name]
        start = index * TEXTS_PER_CLASS
        picked += [
            (others[(start + i) % len(others)], name, phrase)
            for i in range(min(TEXTS_PER_CLASS, len(others)))
        ]
    if not picked:
        return _case("a phrase peculiar to a class", "direction", [], 0)
    longer = [f"{texts[row].rstrip()} {phrase}" for row, _, phrase in picked]
    _, after, _ = answers(predictor, longer, len(typical.names))
    column = {name: i for i, name in enumerate(names)}
    failures = [
        f"{name} fell from {before[row, column[name]]:.4f} to {after[i, column[name]]:.4f}: {_short(longer[i])}"
        for i, (row, name, _) in enumerate(picked)
        if name not in column or after[i, column[name]] <= before[row, column[name]]
    ]
    return _case(
        "a phrase peculiar to a class makes it more probable", "direction", failures, len(picked)
    )


def _typical(examples: Path) -> Typical:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    rows = read(examples, "train", ["text", "label"])
    labels = np.array(rows["label"].to_pylist(), dtype=object)
    names = sorted(set(labels))
    words = r"\S+"  # whatever stands between blanks: no text but a blank one is without a word
    vectorizer = TfidfVectorizer(
        token_pattern=words, ngram_range=(1, 3), max_features=MAX_FEATURES, sublinear_tf=True
    )
    features = vectorizer.fit_transform(rows["text"].to_pylist())
    centroids = normalize(
        np.stack([np.asarray(features[labels == name].mean(axis=0)).ravel() for name in names])
    )
    terms = vectorizer.get_feature_names_out()
    long = np.array([" " in term for term in terms])
    return Typical(
        names,
        centroids,
        vectorizer,
        [_phrase(centroids, i, terms, long) for i in range(len(names))],
    )


def _phrase(centroids: np.ndarray, index: int, terms: np.ndarray, long: np.ndarray) -> str:
    others = np.delete(centroids, index, axis=0)
    peculiar = centroids[index] - (others.max(axis=0) if len(others) else 0)
    return str(terms[np.argmax(np.where(long, peculiar, -np.inf) if long.any() else peculiar)])


def _spread(texts: list[str], count: int) -> list[str]:
    """`count` texts evenly over the split, so that a sorted split is no biased sample."""
    return [
        texts[i]
        for i in np.unique(np.linspace(0, len(texts) - 1, min(count, len(texts))).astype(int))
    ]


def _case(name: str, kind: Any, failures: list[str], total: int) -> Case:
    return Case(name, kind, total - len(failures), total, tuple(failures[:MAX_FAILURES]))


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."
