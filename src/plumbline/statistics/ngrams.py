"""The character n-grams (or other parts) of many texts, as one sparse matrix."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

NGRAM = 3  # characters; texts are short, and one changed word touches few of them
CHUNK_CHARACTERS = 1_000_000  # of texts that are looked at together
CODE_BITS = np.uint64(21)  # of a Unicode code point: three of them fit into 64 bits
# Returns the number of the text and a number of the part, for each part of some texts.
ListParts = Callable[[Sequence[str]], tuple[np.ndarray, np.ndarray]]


class Grams(NamedTuple):
    """Which n-grams some texts have."""

    matrix: "csr_matrix"  # [texts, n-grams] of zeros and ones
    codes: np.ndarray  # of the n-gram of each column


def list_ngrams(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the text and the n-gram, as a number, of each place where one begins.

    A text of fewer than NGRAM characters has itself as its only one.
    """
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


def count_grams(texts: Sequence[str], list_parts: ListParts) -> Grams:
    """Return which n-grams, or which of these parts, each text has; there is at least one text."""
    import pandas as pd
    from scipy.sparse import csr_matrix, vstack

    parts = [_count_chunk(chunk, list_parts) for _, chunk in cut_texts(texts)]
    codes = pd.Index(np.concatenate([part.codes for part in parts])).unique()
    matrices = []
    for matrix, own_codes in parts:
        columns = codes.get_indexer(own_codes)[matrix.indices]
        shape = (matrix.shape[0], len(codes))
        matrices.append(csr_matrix((matrix.data, columns, matrix.indptr), shape=shape))
    return Grams(vstack(matrices, format="csr"), codes.to_numpy())


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


def _count_chunk(texts: Sequence[str], list_parts: ListParts) -> Grams:
    import pandas as pd
    from scipy.sparse import csr_matrix

    owners, parts = list_parts(texts)
    columns, codes = pd.factorize(parts)
    ones = np.ones(len(columns), dtype=np.int8)
    matrix = csr_matrix((ones, (owners, columns)), shape=(len(texts), len(codes)))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return Grams(matrix, codes)
