"""What is typical of each class in the training texts: a centroid, and a phrase that tells it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.data.words import UNBROKEN, join_words

MIN_PHRASE_TEXTS = 5  # of train that have the phrase
MIN_LIFT = 3.0  # by which a phrase multiplies the odds of its class
MAX_CHANCE = 0.01  # that so many of the texts with a phrase are of its class by chance
MAX_FEATURES = 20_000


@dataclass(frozen=True)
class ClassProfiles:
    """What is typical of each class in the training texts."""

    names: list[str]
    centroids: np.ndarray  # [K, features], rows of unit length
    vectorizer: Any
    phrases: list[str | None]  # of each class, one that other classes hardly have, if there is one


def build_profiles(examples: Path) -> ClassProfiles:
    """Read the train split and return what is typical of each of its classes."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    rows = read_split(examples, "train", ["text", "label"])
    labels = np.array(rows["label"].to_pylist(), dtype=object)
    names = sorted(set(labels))
    vectorizer = TfidfVectorizer(
        token_pattern=UNBROKEN, ngram_range=(1, 3), max_features=MAX_FEATURES, sublinear_tf=True
    )
    features = vectorizer.fit_transform(rows["text"].to_pylist())
    means = [np.asarray(features[labels == name].mean(axis=0)).ravel() for name in names]
    centroids = normalize(np.stack(means))
    terms = vectorizer.get_feature_names_out()
    counts = np.stack(
        [np.asarray((features[labels == name] > 0).sum(axis=0)).ravel() for name in names]
    )
    sizes = np.array([int((labels == name).sum()) for name in names])
    phrases = []
    for index in range(len(names)):
        is_telling = _find_telling_terms(counts, sizes, index)
        phrases.append(_find_typical_phrase(centroids, index, terms, is_telling))
    return ClassProfiles(names, centroids, vectorizer, phrases)


def _find_telling_terms(counts: np.ndarray, sizes: np.ndarray, index: int) -> np.ndarray:
    """Return which terms [terms] are so frequent in a class that a sound model must know them.

    `counts` [classes, terms] are the training texts of each class that have the term, `sizes`
    [classes] all of them.
    """
    from scipy.stats import binom

    own = counts[index]
    others = counts.sum(axis=0) - own
    share = sizes[index] / sizes.sum()
    odds = (own + share) / (others + 1 - share)
    has_lift = odds >= MIN_LIFT * share / max(1 - share, 1e-9)
    chance = binom.sf(own - 1, own + others, share)
    is_telling: np.ndarray = (own >= MIN_PHRASE_TEXTS) & has_lift & (chance <= MAX_CHANCE)
    return is_telling


def _find_typical_phrase(
    centroids: np.ndarray, index: int, terms: np.ndarray, is_telling: np.ndarray
) -> str | None:
    """Return the telling term that a class has more than the others, of several words if possible.

    None where no term is telling.
    """
    if not is_telling.any():
        return None
    others = np.delete(centroids, index, axis=0)
    excess = centroids[index] - (others.max(axis=0) if len(others) else 0)
    has_blank = np.array([" " in term for term in terms])
    if (is_telling & has_blank).any():
        is_telling = is_telling & has_blank
    return join_words(str(terms[np.argmax(np.where(is_telling, excess, -np.inf))]))
