"""What is typical of each class in the training texts: a centroid, and texts that are like it."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plumbline.tasks.text_classification.data import has_label_sets, read_batches
from plumbline.tasks.text_classification.data.label_sets import split_labels
from plumbline.tasks.text_classification.data.term_counts import TermCounter
from plumbline.tasks.text_classification.data.words import UNBROKEN

MAX_FEATURES = 20_000
MIN_SIMILARITY = 0.2  # cosine, to its class: a text with less in common is not typical of it
MIN_SIMILARITY_TO_OTHERS = 0.15  # of a training text, to the other texts of its class
MIN_LEAD = 1.2  # how many times as similar to its class as to any other: else it is of neither
TINY = 1e-12
NUM_TRIES = 10  # texts that are drawn for one that is typical: of generated tickets a quarter is


class LabelledText(NamedTuple):
    """A text with its labels: one, or a set of them."""

    text: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class ClassProfiles:
    """What is typical of each class in the training texts."""

    names: list[str]
    centroids: np.ndarray  # [K, features], rows of unit length
    lengths: np.ndarray  # [K], of the sum of the class's texts, each of unit length
    vectorizer: Any

    def measure_similarity(self, texts: Sequence[str]) -> np.ndarray:
        """Measure the cosine of each text to each class [texts, classes]."""
        similarity: np.ndarray = np.asarray(self.vectorizer.transform(texts) @ self.centroids.T)
        return similarity

    def measure_similarity_to_others(self, texts: Sequence[str], index: int) -> np.ndarray:
        """Measure the same of training texts of one class, each without its own part in it.

        Else a word that no other text has would make it typical of its class.
        """
        similarity = self.measure_similarity(texts)
        length = self.lengths[index]
        products = length * similarity[:, index]
        left = np.sqrt(np.maximum(length**2 - 2 * products + 1, TINY))
        similarity[:, index] = (products - 1) / left
        return similarity


def build_profiles(examples: Path) -> ClassProfiles:
    """Read the train split, in batches and several times; return what is typical of its classes."""
    frequencies = _count_terms(examples)
    # In the order in which terms are met, as while TfidfVectorizer fits: sums of floats depend on
    # the order of their parts.
    met = _build_vectorizer(list(frequencies.in_texts), frequencies)
    names = sorted(frequencies.classes)
    totals = np.zeros((len(names), len(frequencies.in_texts)))
    for texts, labels in _read_train(examples):
        features = met.transform(texts)
        owners, classes = _list_members(labels, names)
        members = features[owners]
        places = np.repeat(classes, np.diff(members.indptr)), members.indices
        np.add.at(totals, places, members.data)  # one text after another, whatever the batch
    terms = sorted(frequencies.in_texts)
    order = [met.vocabulary_[term] for term in terms]
    sizes = np.array([frequencies.classes[name] for name in names])
    # Contiguous rows: how NumPy sums a row depends on how it is laid out.
    centroids = _scale_rows(np.ascontiguousarray(totals[:, order]) / sizes[:, None])
    lengths = np.linalg.norm(totals, axis=1)
    return ClassProfiles(names, centroids, lengths, _build_vectorizer(terms, frequencies))


def find_typical_classes(similarity: np.ndarray, least: float = MIN_SIMILARITY) -> np.ndarray:
    """Return of which class each text is typical, -1 for none; `similarity` is [texts, classes]."""
    highest = similarity.max(axis=1)
    is_typical = highest >= least
    if similarity.shape[1] > 1:
        second = np.partition(similarity, -2, axis=1)[:, -2]
        is_typical &= highest >= MIN_LEAD * second
    typical: np.ndarray = np.where(is_typical, similarity.argmax(axis=1), -1)
    return typical


def draw_typical_texts(
    examples: Path, profiles: ClassProfiles, count: int, seed: int
) -> list[list[LabelledText]]:
    """Draw up to `count` training texts of each class that are typical of it, in random order."""
    drawn = []
    candidates = _draw_training_texts(examples, NUM_TRIES * count, seed)
    for index, name in enumerate(profiles.names):
        rows = candidates[name]
        texts = [row.text for row in rows]
        similarity = profiles.measure_similarity_to_others(texts, index)
        classes = find_typical_classes(similarity, MIN_SIMILARITY_TO_OTHERS)
        typical = [row for row, found in zip(rows, classes, strict=True) if found == index]
        drawn.append(typical[:count])
    return drawn


def _draw_training_texts(examples: Path, count: int, seed: int) -> dict[str, list[LabelledText]]:
    """Draw up to `count` texts of each class in one pass (algorithm R of Vitter 1985)."""
    draw = random.Random(seed)  # noqa: S311  not for secrets
    drawn: defaultdict[str, list[LabelledText]] = defaultdict(list)
    num_met: Counter[str] = Counter()
    for texts, labels in _read_train(examples):
        for row in map(LabelledText, texts, labels):
            for name in row.labels:
                num_met[name] += 1
                place = draw.randrange(num_met[name])
                kept = drawn[name]
                if len(kept) < count:
                    # It exchanges its place with another one, so that the order is random.
                    kept.append(row)
                    kept[place], kept[-1] = kept[-1], kept[place]
                elif place < count:
                    kept[place] = row
    return drawn


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
