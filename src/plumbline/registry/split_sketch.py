"""Which rows a test split has, in a line of text: enough to see that two splits share rows.

A bottom-k sketch (Broder 1997; Cohen and Kaplan 2007): the k smallest of the hashes of all
distinct rows. From two of them the number of rows that both splits have is estimated.
"""

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

SIZE = 256  # rows in a sketch: a share of one fifth is estimated to about 0.03
HASH_BYTES = 6


@dataclass(frozen=True)
class SplitSketch:
    """The number of distinct rows of a split, and the smallest of their hashes, in order."""

    num_rows: int
    hashes: tuple[bytes, ...]

    def __str__(self) -> str:
        content = base64.b64encode(b"".join(self.hashes)).decode()
        return f"{self.num_rows} rows:{content}"


def build_sketch(identities: Iterable[str]) -> SplitSketch:
    """Sketch a split by the identities of its rows: what they contain, not how they are called."""
    hashes = {hashlib.sha256(row.encode()).digest()[:HASH_BYTES] for row in identities}
    return SplitSketch(len(hashes), tuple(sorted(hashes)[:SIZE]))


def parse_sketch(text: str) -> SplitSketch | None:
    """Read what `str` of a sketch wrote; None for anything else."""
    number, _, content = text.partition(" rows:")
    try:
        raw = base64.b64decode(content, validate=True)
    except ValueError:
        return None
    if not number.isdecimal() or not raw or len(raw) % HASH_BYTES:
        return None
    starts = range(0, len(raw), HASH_BYTES)
    return SplitSketch(int(number), tuple(raw[start : start + HASH_BYTES] for start in starts))


def estimate_share(new: SplitSketch, old: SplitSketch) -> float:
    """Estimate which share of the rows of `new` is in `old` too.

    Exact for splits of at most SIZE rows. Where `old` is a thousand times larger than `new`, too
    few of the hashes are comparable and the estimate is 0 or wide.
    """
    if not new.hashes or not old.hashes:
        return 0.0
    union = sorted({*new.hashes, *old.hashes})
    # Each sketch knows all hashes of its split up to its own largest one, if it left any out.
    known = [_find_limit(new), _find_limit(old)]
    limits = [limit for limit in known if limit is not None]
    comparable = union if not limits else [value for value in union if value <= min(limits)]
    ours = set(new.hashes) & set(comparable)
    if not ours:
        return 0.0
    return len(ours & set(old.hashes)) / len(ours)


def _find_limit(sketch: SplitSketch) -> bytes | None:
    """The largest hash up to which a sketch names every row; None: it names all rows."""
    return sketch.hashes[-1] if sketch.num_rows > len(sketch.hashes) else None
