"""The comparison form of a text: splits, digests and duplicate checks agree on equal texts.

Two texts that read the same to a person have the same form, whatever is hidden in them: invisible
characters, marks, HTML entities, letters of other scripts that look alike.
"""

import functools
import hashlib
import html
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from plumbline.contract.yaml_file import load_yaml

CONFUSABLES = Path(__file__).with_name("confusables.yaml")
MAX_UNESCAPES = 3  # &amp;amp;amp;
# Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt, and the empty Braille cell.
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Canonical combining classes: overlays, Hebrew and Arabic points, and what is above or below.
ACCENTS = {1, *range(10, 37), *range(200, 241)}
_INVISIBLE = re.compile(f"[{INVISIBLE}]")


def normalise(text: str) -> str:
    """Return the comparison form; punctuation and white space become one space.

    HTML entities are decoded, NFKD and case folding applied, default-ignorable code points and
    accents removed, look-alikes of Latin letters replaced by them (UTS #39). Vowel signs, which
    tell words of Hindi or Thai apart, stay, unless they follow a Latin letter. A text of
    punctuation only, such as "?!", stays.
    """
    folded = fold_spelling(text)
    collapsed = " ".join(folded.translate(_COLLAPSE).split())
    return collapsed or " ".join(folded.split())


def fold_spelling(text: str) -> str:
    """Return the comparison form with punctuation and white space as they are: C++ is not C."""
    folded = _decode_entities(text).casefold()
    return folded if folded.isascii() else _fold_unicode(folded)


def digest_text(text: str) -> str:
    """Return 16 hex digits of the SHA-256 of the comparison form: `digest` in the manifest."""
    return _digest_form(normalise(text))


def digest_content(text: str) -> str:
    """Return 16 hex digits of the SHA-256 of the text as it is: `content_digest` in the manifest.

    Texts that read the same to a person have one `digest_text`; a model may read other tokens.
    """
    return _digest_form(text)


def digest_forms(text: str) -> tuple[str, int]:
    """Return `digest_text`, and 64 bits for the comparison form without spaces."""
    normal = normalise(text)
    compact = hashlib.sha256(normal.replace(" ", "").encode("utf-8", "surrogatepass"))
    return _digest_form(normal), int.from_bytes(compact.digest()[:8])


def _digest_form(form: str) -> str:
    return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _decode_entities(text: str) -> str:
    for _ in range(MAX_UNESCAPES):
        if "&" not in text:
            break
        text = html.unescape(text)
    return text


def _fold_unicode(text: str) -> str:
    """Fold what is beyond ASCII; `text` is case folded.

    Decomposition may bring capitals and marks back: hence the second folding.
    """
    visible = _INVISIBLE.sub("", text)
    decomposed = unicodedata.normalize("NFKD", visible).casefold()
    decomposed = unicodedata.normalize("NFKD", decomposed)
    latin = _INVISIBLE.sub("", decomposed).translate(_load_confusables())
    if latin.isascii():
        return latin
    kept: list[str] = []
    for character in latin:
        after = kept[-1] if kept else ""
        if not _is_dropped(character, after):
            kept.append(character)
    return "".join(kept)


def _is_dropped(character: str, after: str) -> bool:
    """Whether `character` is an accent or point, or any mark on an ASCII character or on nothing.

    The combining classes of other marks tell words apart: vowels, tones, the voicing of kana.
    """
    if not unicodedata.category(character).startswith("M"):
        return False
    return after.isascii() or unicodedata.combining(character) in ACCENTS


@functools.cache
def _load_confusables() -> Mapping[int, str]:
    """Map each look-alike to its Latin letter, for `str.translate`."""
    latin: dict[int, str] = {}
    for letter, lookalikes in load_yaml(CONFUSABLES).items():
        latin |= dict.fromkeys(map(ord, lookalikes), letter)
    return latin


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
