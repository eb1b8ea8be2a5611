"""What the leakage gate asks: is a held-out question, or nearly it, in an earlier split?"""

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plumbline.contract.records import Leak
from plumbline.contract.task import SPLITS
from plumbline.statistics.similar_texts import find_twins
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
        own = texts[splits == split]
        earlier = texts[splits.isin(SPLITS[:number])]
        twins = find_twins(own.tolist(), earlier.tolist(), SIMILARITY, list_words)
        near[own.index[list(twins)]] = "an earlier split"
    return near


def list_words(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the text and a hash of each word, numbers being words."""
    from pandas.util import hash_array

    words = [WORD.findall(text.casefold()) for text in texts]
    owners = np.repeat(np.arange(len(texts)), [len(own) for own in words])
    return owners, hash_array(np.array(list(itertools.chain(*words)), dtype=object))
