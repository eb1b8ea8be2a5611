"""What a look found: said alike by all that look for faults."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing looked at: what it is, what was found, and what to do where it is not well.

    A finding that is ok and has a remedy all the same is a warning.
    """

    what: str
    ok: bool
    found: str
    remedy: str = ""
