"""Many texts in chunks of bounded size, so that what is computed of each needs bounded memory."""

from collections.abc import Iterable, Iterator

CHUNK_CHARACTERS = 1_000_000


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
