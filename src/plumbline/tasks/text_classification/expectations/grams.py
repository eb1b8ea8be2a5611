"""The character n-grams of many texts, as one sparse matrix."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

NGRAM = 3  # characters; texts are short, and one changed word touches few of them
CODE_BITS = np.uint64(21)  # of a Unicode code point: three of them fit into 64 bits


def count_grams(texts: Sequence[str]) -> "csr_matrix":
    """Return which n-grams each text has: a matrix [texts, n-grams] of zeros and ones.

    A text of fewer than NGRAM characters has itself as its only one.
    """
    import pandas as pd
    from scipy.sparse import csr_matrix

    owners, codes = _list_codes(texts)
    columns, kinds = pd.factorize(codes)
    ones = np.ones(len(codes), dtype=np.int32)
    grams = csr_matrix((ones, (owners, columns)), shape=(len(texts), len(kinds)))
    grams.sum_duplicates()
    grams.data[:] = 1
    return grams


def _list_codes(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the text and the n-gram, as a number, of each place where one begins."""
    # Code point 0 fills texts that are too short: comparison texts do not contain it.
    padded = [text.ljust(NGRAM, "\0") for text in texts]
    raw = "".join(padded).encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(raw, dtype=np.uint32).astype(np.uint64)
    lengths = np.array([len(text) for text in padded], dtype=np.int64)
    owners = np.repeat(np.arange(len(texts)), lengths)
    num_places = max(0, len(points) - NGRAM + 1)
    codes = np.zeros(num_places, dtype=np.uint64)
    for place in range(NGRAM):
        codes = (codes << CODE_BITS) | points[place : place + num_places]
    is_whole = owners[:num_places] == owners[len(points) - num_places :]
    return owners[:num_places][is_whole], codes[is_whole]
