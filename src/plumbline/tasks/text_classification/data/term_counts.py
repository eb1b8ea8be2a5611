"""Counts the terms of more texts than memory holds, exactly: words, or pairs and triples of them.

Counts that are too many for memory are written to files in alphabetical order, and merged.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from heapq import merge, nsmallest
from itertools import groupby
from typing import IO, Any

MAX_TERMS = 250_000  # in memory at once, some 50 MB
MAX_FILES = 100  # open at once

TermCount = tuple[str, int]


class TermCounter(AbstractContextManager["TermCounter"]):
    """Counts how often each term was added; MAX_TERMS of the counts are in memory, and one text's.

    No term has a tab or the end of a line in it. Its files have no name: nothing of them is left
    when the process ends.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._files: list[IO[str]] = []

    def add(self, terms: Iterable[str]) -> None:
        """Count the terms of one more text, each as often as it is in `terms`."""
        self._counts.update(terms)
        if len(self._counts) > MAX_TERMS:
            self._write_out()

    def iterate_counts(self) -> Iterator[TermCount]:
        """Yield each term with its count, in alphabetical order."""
        return _merge_counts(self._files, self._counts)

    def find_common(self, max_terms: int) -> dict[str, int]:
        """Return the terms with the highest counts, in alphabetical order, with their counts.

        Of equally common terms, the first in alphabetical order are kept.
        """
        kept = nsmallest(max_terms, self.iterate_counts(), key=lambda entry: (-entry[1], entry[0]))
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


def _write_counts(counts: Iterable[TermCount]) -> IO[str]:
    """Write counts to a new file, a line each."""
    file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 (the counter closes it)
    for term, count in counts:
        file.write(f"{term}\t{count}\n")
    return file


def _merge_counts(files: list[IO[str]], counts: Mapping[str, int]) -> Iterator[TermCount]:
    """Yield the count of each term, in alphabetical order, over all files and `counts`."""
    sources = [*map(_read_counts, files), iter(sorted(counts.items()))]
    for term, entries in groupby(merge(*sources), key=lambda entry: entry[0]):
        yield term, sum(count for _, count in entries)


def _read_counts(file: IO[str]) -> Iterator[TermCount]:
    file.seek(0)
    for line in file:
        term, count = line.split("\t")
        yield term, int(count)
