"""What can be told of texts without a model: their words, and whether two samples are worded alike."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

WORD = re.compile(r"\w+")
MAX_TEXTS = 1000  # of each side: more would find differences that nobody would act on
NUM_PERMUTATIONS = 999
NUM_FEATURES = 2**14
NUM_EXAMPLES = 8


@dataclass(frozen=True)
class Wording:
    """How sure it is that two samples are worded otherwise, what is new, and the texts that are most unlike before."""

    p_value: float
    told: str
    examples: tuple[str, ...]


def words(texts: Iterable[str]) -> frozenset[str]:
    """All words that occur, in lower case."""
    return frozenset(word for text in texts for word in WORD.findall(text.lower()))


def unknown_share(text: str, known: frozenset[str]) -> float:
    """The share of a text's words that are not known; 0 for a text without words."""
    found = WORD.findall(text.lower())
    return sum(word not in known for word in found) / len(found) if found else 0.0


def wording(old: Sequence[str], new: Sequence[str], seed: int) -> Wording:
    """The kernel two-sample test (Gretton et al. 2012, JMLR 13) on hashed pieces of three characters.

    The kernel is the cosine of two texts' pieces, so that the statistic is the squared distance between the samples'
    mean vectors; its p-value comes from relabelling rows at random, and is exact whatever the texts are. The witness
    function, how much more a text is like the new sample than like the old, picks the examples.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    random = np.random.default_rng(seed)
    old, new = (_sample(side, random) for side in (old, new))
    pieces = HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 3), n_features=NUM_FEATURES, norm="l2"
    )
    vectors = pieces.transform([*old, *new])
    labels = np.where(np.arange(vectors.shape[0]) < len(old), -1.0 / len(old), 1.0 / len(new))
    weights = np.column_stack(
        [labels, *(random.permutation(labels) for _ in range(NUM_PERMUTATIONS))]
    )
    alike = (vectors @ vectors.T).toarray()  # the kernel, [rows, rows]
    distances = np.einsum("rp,rp->p", weights, alike @ weights)
    p_value = float((distances >= distances[0] * (1 - 1e-12)).sum() / (NUM_PERMUTATIONS + 1))
    witness = alike[len(old) :] @ labels
    examples = [new[row] for row in np.argsort(-witness, kind="stable")]
    ratio = distances[0] / distances[1:].mean()
    told = f"{ratio:.1f} times as far apart as chance has it" + _risen(old, new)
    return Wording(p_value, told, tuple(dict.fromkeys(examples))[:NUM_EXAMPLES])


def _risen(old: Sequence[str], new: Sequence[str]) -> str:
    """The words of which far more texts hold one now."""
    from collections import Counter

    counts = [Counter(word for text in side for word in words([text])) for side in (old, new)]
    rise = {word: counts[1][word] / len(new) - counts[0][word] / len(old) for word in counts[1]}
    top = sorted(rise, key=lambda word: (-rise[word], word))[:5]
    risen = [
        f"{word} {counts[0][word] / len(old):.1%} to {counts[1][word] / len(new):.1%}"
        for word in top
    ]
    return f"; texts with {', '.join(risen)}" if risen else ""


def _sample(texts: Sequence[str], random: np.random.Generator) -> list[str]:
    if len(texts) <= MAX_TEXTS:
        return list(texts)
    return [texts[row] for row in np.sort(random.choice(len(texts), MAX_TEXTS, replace=False))]
