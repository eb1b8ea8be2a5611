"""Many texts in chunks of bounded size, so that what is computed of each needs bounded memory."""

from collections.abc import Iterator, Sequence

CHUNK_CHARACTERS = 1_000_000


def cut_texts(texts: Sequence[str]) -> Iterator[slice]:
    """Yield runs of texts with about CHUNK_CHARACTERS characters, in order."""
    start, size = 0, 0
    for end, text in enumerate(texts, 1):
        size += len(text)
        if size >= CHUNK_CHARACTERS or end == len(texts):
            yield slice(start, end)
            start, size = end, 0
