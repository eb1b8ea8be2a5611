"""What is typical of each class in the training texts: a centroid, and texts that are like it."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plumbline.tasks.text_classification.data.label_sets import choose_list_labels
from plumbline.tasks.text_classification.data.storage import count_rows, has_label_sets, read_rows
from plumbline.tasks.text_classification.data.words import UNBROKEN

MAX_TEXTS = 50_000  # of train: more would take memory, and say little that is new
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


def draw_training_texts(examples: Path, seed: int) -> list[LabelledText]:
    """Return the texts of train in order; of more than MAX_TEXTS so many that are drawn."""
    num_rows = count_rows(examples, "train")
    numbers = np.random.default_rng(seed).permutation(num_rows)[:MAX_TEXTS]
    rows = read_rows(examples, "train", sorted(numbers.tolist()), ["text", "label"])
    list_labels = choose_list_labels(has_label_sets(examples, "train"))
    label_sets = map(list_labels, rows["label"].to_pylist())
    return list(map(LabelledText, rows["text"].to_pylist(), label_sets))


def build_profiles(rows: Sequence[LabelledText]) -> ClassProfiles:
    """Return what is typical of the classes of training texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import MultiLabelBinarizer, normalize

    vectorizer = TfidfVectorizer(
        token_pattern=UNBROKEN, ngram_range=(1, 3), max_features=MAX_FEATURES, sublinear_tf=True
    )
    features = vectorizer.fit_transform([row.text for row in rows])
    binarizer = MultiLabelBinarizer(sparse_output=True)
    members = binarizer.fit_transform([row.labels for row in rows])  # [texts, K]
    totals = (members.T @ features).toarray()
    lengths = np.linalg.norm(totals, axis=1)
    return ClassProfiles(list(binarizer.classes_), normalize(totals), lengths, vectorizer)


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
    rows: Sequence[LabelledText], profiles: ClassProfiles, count: int, seed: int
) -> list[list[LabelledText]]:
    """Draw up to `count` training texts of each class that are typical of it, in random order."""
    drawn = []
    candidates = _draw_of_each_class(rows, NUM_TRIES * count, seed)
    for index, name in enumerate(profiles.names):
        own = candidates[name]
        similarity = profiles.measure_similarity_to_others([row.text for row in own], index)
        classes = find_typical_classes(similarity, MIN_SIMILARITY_TO_OTHERS)
        typical = [row for row, found in zip(own, classes, strict=True) if found == index]
        drawn.append(typical[:count])
    return drawn


def _draw_of_each_class(
    rows: Sequence[LabelledText], count: int, seed: int
) -> dict[str, list[LabelledText]]:
    """Draw up to `count` texts of each class (algorithm R of Vitter 1985)."""
    draw = random.Random(seed)  # noqa: S311  not for secrets
    drawn: defaultdict[str, list[LabelledText]] = defaultdict(list)
    num_met: Counter[str] = Counter()
    for row in rows:
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
