"""What is typical of each class in the training texts: a centroid, and a phrase that tells it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.tasks.text_classification.data import read_label_sets, read_split
from plumbline.tasks.text_classification.data.words import UNBROKEN, join_words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

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
    """Read the train split and return what is typical of each of its classes."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    texts = read_split(examples, "train", ["text"])["text"].to_pylist()
    labels = read_label_sets(examples, "train")
    names = sorted({label for own in labels for label in own})
    vectorizer = TfidfVectorizer(
        token_pattern=UNBROKEN, ngram_range=(1, 3), max_features=MAX_FEATURES, sublinear_tf=True
    )
    features = vectorizer.fit_transform(texts)
    members = _mark_members(labels, names)
    sizes = np.asarray(members.sum(axis=1)).ravel().astype(int)
    centroids = normalize((members @ features).toarray() / sizes[:, None])
    has_term = (features > 0).astype(float)
    counts = TermCounts(
        (members @ has_term).toarray().astype(int),
        sizes,
        np.asarray(has_term.sum(axis=0)).ravel().astype(int),
        len(texts),
    )
    phrases = _find_typical_phrases(centroids, counts, vectorizer.get_feature_names_out())
    return ClassProfiles(names, centroids, vectorizer, phrases)


def _mark_members(labels: list[tuple[str, ...]], names: list[str]) -> "csr_matrix":
    """Return a matrix [classes, texts] with a one for each text of a class."""
    from scipy.sparse import csr_matrix

    index = {name: number for number, name in enumerate(names)}
    pairs = [(index[label], text) for text, own in enumerate(labels) for label in own]
    rows, places = np.array(pairs).T
    return csr_matrix((np.ones(len(pairs)), (rows, places)), shape=(len(names), len(labels)))


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
