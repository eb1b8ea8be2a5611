"""What can be said of texts without a model: their words, and whether two samples differ."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

WORD = re.compile(r"\w+")
MAX_TEXTS = 1000  # of each side: more would find differences that nobody would act on
NUM_PERMUTATIONS = 999
NUM_FEATURES = 2**14
NUM_EXAMPLES = 8


def list_words(texts: Iterable[str]) -> frozenset[str]:
    """All words that occur, in lower case."""
    return frozenset(WORD.findall("\n".join(texts).lower()))


def measure_unknown_shares(texts: Iterable[str], known: frozenset[str]) -> np.ndarray:
    """The share of each text's words that are not known; 0 for a text without words."""
    shares = []
    for text in texts:
        words = WORD.findall(text.lower())
        num_unknown = sum(word not in known for word in words)
        shares.append(num_unknown / max(len(words), 1))
    return np.array(shares)


def compare_wording(
    old: Sequence[str], new: Sequence[str], seed: int
) -> tuple[float, str, tuple[str, ...]]:
    """The kernel two-sample test (Gretton et al. 2012, JMLR 13) on hashed character trigrams.

    The kernel is the cosine of two texts' trigrams, so that the statistic is the squared distance
    between the samples' mean vectors; its p-value comes from relabelling rows at random, and is
    exact for any texts. The witness function, how much more a text is like the new sample than
    like the old, selects the examples. Returns the p-value, what changed in words, and examples.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    random = np.random.default_rng(seed)
    old = _sample(old, random)
    new = _sample(new, random)
    trigrams = HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 3), n_features=NUM_FEATURES, norm="l2"
    )
    vectors = trigrams.transform([*old, *new])
    labels = np.where(np.arange(vectors.shape[0]) < len(old), -1.0 / len(old), 1.0 / len(new))
    permuted = [random.permutation(labels) for _ in range(NUM_PERMUTATIONS)]
    weights = np.column_stack([labels, *permuted])
    kernel = (vectors @ vectors.T).toarray()  # [rows, rows]
    distances = np.einsum("rp,rp->p", weights, kernel @ weights)
    p_value = float((distances >= distances[0] * (1 - 1e-12)).sum() / (NUM_PERMUTATIONS + 1))
    witness = kernel[len(old) :] @ labels
    examples = [new[row] for row in np.argsort(-witness, kind="stable")]
    ratio = distances[0] / distances[1:].mean()
    change = f"{ratio:.1f} times the distance expected by chance" + _describe_rise(old, new)
    return p_value, change, tuple(dict.fromkeys(examples))[:NUM_EXAMPLES]


def _describe_rise(old: Sequence[str], new: Sequence[str]) -> str:
    """The words that occur in far more of the new texts."""
    old_counts = _count_texts_by_word(old)
    new_counts = _count_texts_by_word(new)
    rise = {word: new_counts[word] / len(new) - old_counts[word] / len(old) for word in new_counts}
    top = sorted(rise, key=lambda word: (-rise[word], word))[:5]
    if not top:
        return ""
    changes = ", ".join(
        f"{word} {old_counts[word] / len(old):.1%} to {new_counts[word] / len(new):.1%}"
        for word in top
    )
    return f"; texts with {changes}"


def _count_texts_by_word(texts: Sequence[str]) -> Counter[str]:
    """For each word, the number of texts that contain it."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(list_words([text]))
    return counts


def _sample(texts: Sequence[str], random: np.random.Generator) -> list[str]:
    if len(texts) <= MAX_TEXTS:
        return list(texts)
    return [texts[row] for row in np.sort(random.choice(len(texts), MAX_TEXTS, replace=False))]
