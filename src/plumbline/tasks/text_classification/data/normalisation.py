"""One normal form of a text, so that splits, digests and near-duplicate checks agree on when two texts are the same."""

import hashlib
import unicodedata


def normalise(text: str) -> str:
    """NFKC and casefold; punctuation and white space become one space, invisible format characters nothing."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.translate(_COLLAPSE).split()) or " ".join(
        folded.split()
    )  # "?!" stays itself, not nothing


def digest(text: str) -> str:
    """16 hex digits of the SHA-256 of the normalised text."""
    return hashlib.sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class _Collapse(dict[int, int | str | None]):
    """What `str.translate` asks for: decided once a character, by its Unicode category."""

    def __missing__(self, code: int) -> int | str | None:
        category = unicodedata.category(chr(code))
        self[code] = None if category == "Cf" else " " if category[0] in "PZC" else code
        return self[code]


_COLLAPSE = _Collapse()
