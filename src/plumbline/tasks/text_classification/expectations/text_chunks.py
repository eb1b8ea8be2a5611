"""Many texts in chunks of bounded size, so that what is computed of each needs bounded memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol, TypeVar

CHUNK_CHARACTERS = 1_000_000
T = TypeVar("T")


class Texts(Protocol):
    """Texts of any number, which are looked at a chunk at a time."""

    def fold(self, measure: Callable[[list[str]], T], merge: Callable[[T, T], T], start: T) -> T:
        """Measure each chunk, and merge what was measured, in order, into `start`.

        `merge` is associative, and may change its first argument.
        """
        ...


@dataclass(frozen=True)
class ListedTexts:
    """Texts in memory."""

    texts: Sequence[str]

    def fold(self, measure: Callable[[list[str]], T], merge: Callable[[T, T], T], start: T) -> T:
        """Measure each chunk, and merge what was measured, in order, into `start`."""
        return reduce(merge, (measure(chunk) for _, chunk in cut_texts(self.texts)), start)


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


def merge_first(one: dict[str, T], other: dict[str, T]) -> dict[str, T]:
    """Add to `one` what only `other` has, and return it: what is met first is kept."""
    for key, value in other.items():
        one.setdefault(key, value)
    return one
