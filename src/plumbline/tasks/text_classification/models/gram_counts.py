"""Counts grams of more texts than memory holds, exactly.

Counts that are too many for memory are written to files in alphabetical order, and merged.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from heapq import merge, nsmallest
from itertools import groupby
from typing import IO, Any

from plumbline.tasks.text_classification.predictor import extract_grams

MAX_GRAMS = 250_000  # in memory at once, some 50 MB
MAX_FILES = 100  # open at once

GramCount = tuple[str, int]  # how many texts have a gram


class GramCounter(AbstractContextManager["GramCounter"]):
    """Counts the texts that have each gram; MAX_GRAMS of the counts are in memory, and one text's.

    Its files have no name: nothing of them is left when the process ends.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._files: list[IO[str]] = []

    def add(self, texts: Iterable[str]) -> None:
        """Count the grams of some more texts."""
        for text in texts:
            self._counts.update(set(extract_grams(text)))
            if len(self._counts) > MAX_GRAMS:
                self._write_out()

    def find_common(self, max_grams: int) -> dict[str, int]:
        """Return the grams that most texts have, in alphabetical order, with their counts.

        Of equally common grams, the first in alphabetical order are kept.
        """
        counts = _merge_counts(self._files, self._counts)
        kept = nsmallest(max_grams, counts, key=lambda entry: (-entry[1], entry[0]))
        return dict(sorted(kept))

    def __exit__(self, *error: Any) -> None:
        self._close_files()

    def _write_out(self) -> None:
        """Move the counts from memory to a file."""
        self._files.append(_write_counts(sorted(self._counts.items())))
        self._counts.clear()
        if len(self._files) > MAX_FILES:
            merged = _write_counts(_merge_counts(self._files, {}))
            self._close_files()
            self._files.append(merged)

    def _close_files(self) -> None:
        for file in self._files:
            file.close()
        self._files.clear()


def _write_counts(counts: Iterable[GramCount]) -> IO[str]:
    """Write counts to a new file, a line each."""
    file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 (the counter closes it)
    for gram, count in counts:
        file.write(f"{gram}\t{count}\n")
    return file


def _merge_counts(files: list[IO[str]], counts: Mapping[str, int]) -> Iterator[GramCount]:
    """Yield the count of each gram, in alphabetical order, over all files and `counts`."""
    sources = [*map(_read_counts, files), iter(sorted(counts.items()))]
    for gram, entries in groupby(merge(*sources), key=lambda entry: entry[0]):
        yield gram, sum(count for _, count in entries)


def _read_counts(file: IO[str]) -> Iterator[GramCount]:
    file.seek(0)
    for line in file:
        gram, count = line.split("\t")
        yield gram, int(count)
