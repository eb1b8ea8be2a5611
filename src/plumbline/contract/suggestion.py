"""What a message suggests for a name that is not valid."""

import difflib

MIN_SIMILARITY = 0.6


def suggest_nearest(name: str, valid: list[str]) -> str:
    """Return ' (did you mean X?)' for the valid name closest to `name`, or an empty text."""
    close = difflib.get_close_matches(name, valid, n=1, cutoff=MIN_SIMILARITY)
    return f" (did you mean {close[0]}?)" if close else ""
