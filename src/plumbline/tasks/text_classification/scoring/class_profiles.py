"""What is typical of each class in the training texts: a centroid, and a phrase that tells it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.tasks.text_classification.data import has_label_sets, read_batches
from plumbline.tasks.text_classification.data.label_sets import split_labels
from plumbline.tasks.text_classification.data.term_counts import TermCounter
from plumbline.tasks.text_classification.data.words import UNBROKEN, join_words

MIN_PHRASE_TEXTS = 5  # of train that have the phrase
MIN_LIFT = 3.0  # by which a phrase multiplies the odds of its class
MAX_CHANCE = 0.01  # that any phrase has so many of its texts in one class by chance
MAX_FEATURES = 20_000


@dataclass(frozen=True)
class ClassProfiles:
    """What is typical of each class in the training texts."""

    names: list[str]
    centroids: np.ndarray  # [K, features], rows of unit length
    vectorizer: Any
    phrases: list[str | None]  # of each class, one that other classes hardly have, if there is one


@dataclass(frozen=True)
class TermCounts:
    """How many training texts have each term; of sets of labels, a text is in several classes."""

    in_class: np.ndarray  # [classes, terms], of the texts of each class
    sizes: np.ndarray  # [classes], all texts of each class
    in_all: np.ndarray  # [terms]
    num_texts: int


def build_profiles(examples: Path) -> ClassProfiles:
    """Read the train split, in batches and several times; return what is typical of its classes."""
    frequencies = _count_terms(examples)
    # In the order in which terms are met, as while TfidfVectorizer fits: sums of floats depend on
    # the order of their parts.
    met = _build_vectorizer(list(frequencies.in_texts), frequencies)
    names = sorted(frequencies.classes)
    totals = np.zeros((len(names), len(frequencies.in_texts)))
    in_class = np.zeros(totals.shape, dtype=int)
    for texts, labels in _read_train(examples):
        features = met.transform(texts)
        owners, classes = _list_members(labels, names)
        members = features[owners]
        places = np.repeat(classes, np.diff(members.indptr)), members.indices
        np.add.at(totals, places, members.data)  # one text after another, whatever the batch
        np.add.at(in_class, places, 1)
    terms = sorted(frequencies.in_texts)
    order = [met.vocabulary_[term] for term in terms]
    sizes = np.array([frequencies.classes[name] for name in names])
    # Contiguous rows: how NumPy sums a row depends on how it is laid out.
    centroids = _scale_rows(np.ascontiguousarray(totals[:, order]) / sizes[:, None])
    in_all = np.array([frequencies.in_texts[term] for term in terms])
    counts = TermCounts(in_class[:, order], sizes, in_all, frequencies.num_texts)
    phrases = _find_typical_phrases(centroids, counts, np.array(terms, dtype=object))
    return ClassProfiles(names, centroids, _build_vectorizer(terms, frequencies), phrases)


@dataclass(frozen=True)
class _TermFrequencies:
    """How often the most frequent terms of train occur, in the order in which they are met."""

    in_texts: Mapping[str, int]  # term -> texts that have it
    classes: Counter[str]  # texts of each class
    num_texts: int


def _count_terms(examples: Path) -> _TermFrequencies:
    """Count the terms of train; MAX_FEATURES of them are kept, those that TfidfVectorizer keeps."""
    analyze = _build_vectorizer().build_analyzer()
    classes: Counter[str] = Counter()
    num_texts = 0
    with TermCounter() as occurrences, TermCounter() as in_texts:
        for texts, labels in _read_train(examples):
            for text, own in zip(texts, labels, strict=True):
                terms = analyze(text)
                occurrences.add(terms)
                in_texts.add(set(terms))
                classes.update(own)
            num_texts += len(texts)
        frequent = _select_frequent(occurrences, in_texts)
    met = {term: frequent[term] for term in _iterate_as_met(examples, frequent.keys())}
    return _TermFrequencies(met, classes, num_texts)


def _select_frequent(occurrences: TermCounter, in_texts: TermCounter) -> dict[str, int]:
    """Return in how many texts each of the terms is that occur most often."""
    sizes = np.fromiter((count for _, count in occurrences.iterate_counts()), dtype=int)
    is_kept = np.zeros(len(sizes), dtype=bool)
    is_kept[(-sizes).argsort()[:MAX_FEATURES]] = True
    counts = zip(in_texts.iterate_counts(), is_kept, strict=True)
    return {term: count for (term, count), kept in counts if kept}


def _iterate_as_met(examples: Path, terms: Set[str]) -> Iterator[str]:
    """Yield each of these terms of train when it is met for the first time."""
    analyze = _build_vectorizer().build_analyzer()
    met: set[str] = set()
    for texts, _ in _read_train(examples):
        for text in texts:
            for term in analyze(text):
                if term in terms and term not in met:
                    met.add(term)
                    yield term
        if len(met) == len(terms):
            return


def _build_vectorizer(
    terms: list[str] | None = None, frequencies: _TermFrequencies | None = None
) -> Any:
    """Return what TfidfVectorizer fits to all texts at once, with columns in the order of terms."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        token_pattern=UNBROKEN, ngram_range=(1, 3), vocabulary=terms, sublinear_tf=True
    )
    if terms is not None and frequencies is not None:
        in_texts = np.array([float(frequencies.in_texts[term]) for term in terms])
        vectorizer.idf_ = np.log((frequencies.num_texts + 1) / (in_texts + 1)) + 1
    return vectorizer


def _read_train(examples: Path) -> Iterator[tuple[list[str], list[tuple[str, ...]]]]:
    """Yield the texts of train, with the labels of each."""
    list_labels = split_labels if has_label_sets(examples, "train") else _list_one_label
    for batch in read_batches(examples, "train", ["text", "label"]):
        labels = [list_labels(label) for label in batch["label"].to_pylist()]
        yield batch["text"].to_pylist(), labels


def _list_one_label(label: str) -> tuple[str, ...]:
    return (label,)


def _list_members(
    labels: Sequence[tuple[str, ...]], names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the text and the class of each label of a text."""
    index = {name: number for number, name in enumerate(names)}
    pairs = [(text, index[label]) for text, own in enumerate(labels) for label in own]
    owners, classes = np.array(pairs, dtype=int).reshape(-1, 2).T
    return owners, classes


def _scale_rows(values: np.ndarray) -> np.ndarray:
    from sklearn.preprocessing import normalize

    scaled: np.ndarray = normalize(values)
    return scaled


def _find_telling_terms(counts: TermCounts) -> np.ndarray:
    """Return which terms [classes, terms] a sound model must know: a class has them so often.

    Of thousands of terms some are in one class by chance, so each pair of a term and a class may be
    so with its share of MAX_CHANCE alone (Bonferroni).
    """
    from scipy.stats import binom

    own = counts.in_class
    others = counts.in_all - own
    share = (counts.sizes / counts.num_texts)[:, None]
    odds = (own + share) / (others + 1 - share)
    has_lift = odds >= MIN_LIFT * share / np.maximum(1 - share, 1e-9)
    is_telling: np.ndarray = (own >= MIN_PHRASE_TEXTS) & has_lift
    rows, terms = np.nonzero(is_telling)  # the binomial tail is asked of these few alone
    chance = binom.sf(own[rows, terms] - 1, counts.in_all[terms], share[rows, 0])
    num_asked = np.count_nonzero(counts.in_all >= MIN_PHRASE_TEXTS) * len(counts.sizes)
    is_telling[rows, terms] = chance * num_asked <= MAX_CHANCE
    return is_telling


def _find_typical_phrases(
    centroids: np.ndarray, counts: TermCounts, terms: np.ndarray
) -> list[str | None]:
    """Return for each class the telling term that it has more than the others.

    It is of several words if possible; None for a class without a telling term.
    """
    is_telling = _find_telling_terms(counts)
    has_blank = np.array([" " in term for term in terms])
    highest = _compute_highest_of_others(centroids)
    phrases: list[str | None] = []
    for telling, own, others in zip(is_telling, centroids, highest, strict=True):
        if not telling.any():
            phrases.append(None)
            continue
        wanted = telling & has_blank if (telling & has_blank).any() else telling
        excess = np.where(wanted, own - others, -np.inf)
        phrases.append(join_words(str(terms[np.argmax(excess)])))
    return phrases


def _compute_highest_of_others(values: np.ndarray) -> np.ndarray:
    """Return for each row [rows, columns] the highest value of each column in any other row."""
    if len(values) == 1:
        return np.zeros_like(values)
    second, first = np.partition(values, len(values) - 2, axis=0)[-2:]
    highest = np.broadcast_to(first, values.shape).copy()
    best = values.argmax(axis=0)
    highest[best, np.arange(values.shape[1])] = second
    return highest
