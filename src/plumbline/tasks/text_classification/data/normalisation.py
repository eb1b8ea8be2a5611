"""One normal form of a text: splits, digests and near-duplicate checks agree on equal texts."""

import hashlib
import unicodedata


def normalise(text: str) -> str:
    """Apply NFKC and casefold; punctuation and white space become one space.

    Invisible format characters are removed. A text of punctuation only, such as "?!", stays.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    collapsed = " ".join(folded.translate(_COLLAPSE).split())
    return collapsed or " ".join(folded.split())


def digest_text(text: str) -> str:
    """Return 16 hex digits of the SHA-256 of the normalised text."""
    return hashlib.sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class _CollapseTable(dict[int, int | str | None]):
    """A table for `str.translate`, filled once a character, by its Unicode category."""

    def __missing__(self, code: int) -> int | str | None:
        category = unicodedata.category(chr(code))
        replacement: int | str | None = code
        if category == "Cf":
            replacement = None
        elif category[0] in "PZC":
            replacement = " "
        self[code] = replacement
        return replacement


_COLLAPSE = _CollapseTable()
