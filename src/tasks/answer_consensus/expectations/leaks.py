"""What the leakage gate asks: is a held-out question, or nearly it, in an earlier split?"""

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plumbline.contract.records import Leak
from plumbline.contract.task import SPLITS
from plumbline.tables.split_rows import count_leaks, find_earlier_splits, gather_rows
from tasks.answer_consensus.data import list_rows, read_answers
from tasks.answer_consensus.params import ConsensusParams

if TYPE_CHECKING:
    import pandas as pd

SIMILARITY = 0.9  # Jaccard index of two questions' words from which on they are nearly equal
WORD = re.compile(r"\w+")


def find_leaks(params: ConsensusParams, examples: Path) -> list[Leak]:
    """Count held-out questions that an earlier split has, by text, nearly so, or by group.

    Those that their own split has twice are copies.
    """
    rows = gather_rows(list_rows, examples)
    questions = [text for split in SPLITS for text in read_answers(examples, split).questions]
    exact = find_earlier_splits(rows, "digest")
    copies = rows["split"].where(rows.duplicated(["split", "digest"]), None)
    places = {
        "exact": exact,
        "near": _find_near_splits(rows["split"], questions).where(exact.isna(), None),
        "group": find_earlier_splits(rows, "group"),
        "copy": copies,
    }
    shown = [f"{name} ({text[:80]})" for name, text in zip(rows["id"], questions, strict=True)]
    return count_leaks(rows.assign(id=shown), places)


def _find_near_splits(splits: "pd.Series", questions: Sequence[str]) -> "pd.Series":
    """For each row "an earlier split" where one has nearly the same question, or None."""
    import pandas as pd

    texts = pd.Series(questions, index=splits.index, dtype=object)
    near = pd.Series(None, index=splits.index, dtype=object)
    for number, split in enumerate(SPLITS[1:], start=1):
        own = splits == split
        earlier = texts[splits.isin(SPLITS[:number])]
        is_near = find_near(texts[own].tolist(), earlier.tolist())
        near[own] = ["an earlier split" if found else None for found in is_near]
    return near


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
