"""Does the winner know the obvious?

A passage is found by its own first sentence. Upper case and signs change the first answer to few
queries; after a slip of the keyboard, which can hit the only word that counts, it is among the
first three. So many passages as are scored begin with the one that is answered alone.
"""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from plumbline.contract.records import Case
from plumbline.contract.task import Predictor
from tasks.retrieval.data.storage import read_corpus, read_inputs
from tasks.retrieval.params import RetrievalParams
from tasks.retrieval.ranking import DEPTH

NUM_ROWS = 200
SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
LEAST_LETTERS = 5  # of a word that is mistyped
NUM_AFTER_SLIP = 3  # passages among which the first one has to stay
TOLERANCE = 1e-3


def check_behaviour(params: RetrievalParams, examples: Path, predictor: Predictor) -> list[Case]:
    """Run every behavioural test of `predictor`, on queries of the test split."""
    queries = read_inputs(examples, "test")["query"][:NUM_ROWS]
    before = predictor.predict({"query": queries}, top_k=1)["id"]

    def compare(name: str, change: Callable[[str], str], num_first: int = 1) -> Case:
        changed = [change(query) for query in queries]
        after = predictor.predict({"query": changed}, top_k=DEPTH)["ids"]
        failures = []
        for query, one, others in zip(queries, before, after, strict=True):
            first = others[:num_first]
            if (one or None) not in (first or [None]):
                failures.append(f"{query[:60]}: {one}, then {', '.join(first)}")
        return Case.build(name, "invariance", failures, len(queries), is_sample=True)

    return [
        _check_own_sentence(examples, predictor),
        compare("upper case", str.upper),
        compare("a question mark", lambda query: f"{query.rstrip('?.! ')}?"),
        compare("a slip of the keyboard", swap_letters, NUM_AFTER_SLIP),
        _check_lengths(queries, predictor),
    ]


def _check_lengths(queries: list[str], predictor: Predictor) -> Case:
    """A vector, where a model has one, has length 1: who searches elsewhere relies on it."""
    vectors = predictor.predict({"query": queries}, top_k=1, vectors=True)["vector"]
    lengths = [float(np.linalg.norm(vector or [1.0])) for vector in vectors]
    failures = [f"{length:.3g}" for length in lengths if not abs(length - 1) < TOLERANCE]
    return Case.build("vectors of length 1", "minimum", failures, len(queries))


def swap_letters(query: str) -> str:
    """Swap two letters of a word that the text chooses; a query of short words is unchanged."""
    words = [word for word in query.split() if len(word) >= LEAST_LETTERS]
    if not words:
        return query
    word = words[len(query) % len(words)]
    return query.replace(word, word[0] + word[2] + word[1] + word[3:], 1)


def _check_own_sentence(examples: Path, predictor: Predictor) -> Case:
    """The first sentence of a passage, which no other passage begins with, finds it."""
    corpus = read_corpus(examples)
    first = [SENTENCE_END.split(text, maxsplit=1)[0] for text in corpus.texts]
    counts = Counter(first)
    places = [place for place, sentence in enumerate(first) if counts[sentence] == 1]
    drawn = np.random.default_rng(0).permutation(places)[:NUM_ROWS].tolist()
    asked = {"query": [first[place] for place in drawn]}
    found = predictor.predict(asked, top_k=1)["id"] if drawn else []
    failures = []
    for place, id_ in zip(drawn, found, strict=True):
        if id_ != corpus.ids[place]:
            failures.append(f"{first[place][:60]}: {id_}")
    return Case.build("its own first sentence", "minimum", failures, len(drawn), is_sample=True)
