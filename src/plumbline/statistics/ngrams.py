"""The character n-grams (or other parts) of many texts, as one sparse matrix."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

NGRAM = 3  # characters; texts are short, and one changed word touches few of them
CHUNK_CHARACTERS = 1_000_000  # of texts that are looked at together
MOST_HASHES = 2**31 - 1  # so many that two n-grams hardly ever have the same
ListParts = Callable[[str], Iterable[str]]


class Grams(NamedTuple):
    """Which n-grams some texts have."""

    matrix: "csr_matrix"  # [texts, n-grams] of zeros and ones
    codes: np.ndarray  # hash of the n-gram of each column


def count_grams(texts: Sequence[str], list_parts: ListParts | None = None) -> Grams:
    """Return which n-grams, or which of the parts that `list_parts` lists, each text has.

    A text of fewer than NGRAM characters has none.
    """
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import HashingVectorizer

    vectoriser = HashingVectorizer(
        analyzer=list_parts or "char",
        ngram_range=(NGRAM, NGRAM),
        lowercase=False,
        n_features=MOST_HASHES,
        binary=True,
        norm=None,
        alternate_sign=False,
        dtype=np.int8,
    )
    hashed = vectoriser.transform(texts)
    codes, columns = np.unique(hashed.indices, return_inverse=True)
    shape = (len(texts), len(codes))
    return Grams(csr_matrix((hashed.data, columns, hashed.indptr), shape=shape), codes)


def cut_texts(texts: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield runs of texts with about CHUNK_CHARACTERS characters, in order.

    Each comes with the number of its first text.
    """
    start, size = 0, 0
    chunk: list[str] = []
    for text in texts:
        chunk.append(text)
        size += len(text)
        if size >= CHUNK_CHARACTERS:
            yield start, chunk
            start += len(chunk)
            chunk, size = [], 0
    if chunk:
        yield start, chunk
