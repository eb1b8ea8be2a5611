"""What the leakage gate asks: is a held-out question, or nearly it, in an earlier split?"""

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from plumbline.contract.records import Leak
from plumbline.contract.task import SPLITS
from tasks.answer_consensus.data import Answers, read_answers
from tasks.answer_consensus.params import ConsensusParams

MAX_EXAMPLES = 5
SIMILARITY = 0.9  # Jaccard index of two questions' words from which on they are nearly equal
WORD = re.compile(r"\w+")


def find_leaks(params: ConsensusParams, examples: Path) -> list[Leak]:
    """Count held-out questions that an earlier split has, by text, nearly so, or by group."""
    answers = {split: read_answers(examples, split) for split in SPLITS}
    leaks = []
    for number, split in enumerate(SPLITS[1:], start=1):
        own = answers[split]
        earlier = [answers[before] for before in SPLITS[:number]]
        known = {digest for part in earlier for digest in part.digests}
        groups = {group for part in earlier for group in part.groups if group}
        texts = [text for part in earlier for text in part.questions]
        exact = np.array([digest in known for digest in own.digests])
        near = np.array(find_near(list(own.questions), texts)) & ~exact
        leaks.append(_count_leaks("exact", split, own, exact))
        leaks.append(_count_leaks("near", split, own, near))
        leaks.append(_count_leaks("group", split, own, np.isin(own.groups, list(groups))))
        leaks.append(_count_leaks("copy", split, own, _find_repeated(own.digests)))
    return leaks


def find_near(texts: Sequence[str], others: Sequence[str]) -> list[bool]:
    """Whether each text shares nearly all words with one of `others`, numbers being words.

    Two sets with a Jaccard index of at least t share one of their first (1 - t) words, in any one
    order of all words (prefix filtering, Bayardo et al. 2007); rare words first leave few to
    compare.
    """
    bags = [frozenset(WORD.findall(text.casefold())) for text in others]
    counts: dict[str, int] = defaultdict(int)
    for bag in bags:
        for word in bag:
            counts[word] += 1
    by_word: dict[str, list[frozenset[str]]] = defaultdict(list)
    for bag in bags:
        for word in _list_prefix(bag, counts):
            by_word[word].append(bag)
    result = []
    for text in texts:
        bag = frozenset(WORD.findall(text.casefold()))
        candidates = [other for word in _list_prefix(bag, counts) for other in by_word[word]]
        result.append(any(_is_near(bag, other) for other in candidates))
    return result


def _list_prefix(bag: frozenset[str], counts: dict[str, int]) -> list[str]:
    """The words of which near sets share at least one: all but SIMILARITY of them, rare first."""
    size = len(bag) - int(np.ceil(SIMILARITY * len(bag) - 1e-9)) + 1
    return sorted(bag, key=lambda word: (counts.get(word, 0), word))[:size]


def _is_near(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one) and len(one & other) >= SIMILARITY * len(one | other) - 1e-9


def _find_repeated(digests: Sequence[str]) -> np.ndarray:
    seen: set[str] = set()
    repeated = []
    for digest in digests:
        repeated.append(digest in seen)
        seen.add(digest)
    return np.array(repeated)


def _count_leaks(
    kind: Literal["exact", "near", "group", "copy"], split: str, own: Answers, mask: np.ndarray
) -> Leak:
    texts = [f"{own.ids[row]} ({own.questions[row][:80]})" for row in np.flatnonzero(mask)]
    return Leak(kind, split, len(texts), len(own.ids), tuple(texts[:MAX_EXAMPLES]))
