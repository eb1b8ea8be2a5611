"""The csv module's limit on the size of a cell, which is one setting for the whole process."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def allow_wide_cells(max_chars: int) -> Iterator[None]:
    """Let cells of CSV have up to `max_chars` characters (131,072 by default) in this block."""
    before = csv.field_size_limit(max_chars)
    try:
        yield
    finally:
        csv.field_size_limit(before)
