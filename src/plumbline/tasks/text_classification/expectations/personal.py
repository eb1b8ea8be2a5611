"""Personal data in texts: found by rules that hardly ever err, and masked wherever a text is shown."""

import re
from collections.abc import Iterator

CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b", re.IGNORECASE)
MIN_DIGITS = 8  # every IBAN holds more; a run of words does not


def kinds(text: str) -> list[str]:
    """What kinds of personal data `text` holds: card number, e-mail address, IBAN."""
    return sorted({kind for kind, _, _ in _found(text)})


def masked(text: str) -> str:
    """`text` with personal data replaced by its kind in brackets."""
    for kind, start, end in sorted(_found(text), key=lambda found: -found[1]):
        text = f"{text[:start]}[{kind}]{text[end:]}"
    return text


def _found(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each, without overlaps."""
    end = 0
    for kind, match in sorted(_matches(text), key=lambda found: found[1].start()):
        if match.start() >= end:
            end = match.end()
            yield kind, match.start(), end


def _matches(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    yield from (("e-mail address", match) for match in EMAIL.finditer(text) if "@" in text)
    yield from (("card number", match) for match in CARD.finditer(text) if _luhn(match.group()))
    for match in IBAN.finditer(text):
        found: re.Match[str] | None = match
        while found and not _mod97(
            found.group()
        ):  # a word that follows may have been taken for the last group
            shorter = found.group().rpartition(" ")[0]
            found = IBAN.fullmatch(text, found.start(), found.start() + len(shorter))
        if found:
            yield "IBAN", found


def _luhn(number: str) -> bool:
    """The check digit of card numbers (ISO/IEC 7812-1), for numbers that are not one digit over and over."""
    digits = [int(character) for character in number if character.isdigit()][::-1]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _mod97(text: str) -> bool:
    """The check digits of an IBAN (ISO 13616-1)."""
    code = text.replace(" ", "").upper()
    if not 15 <= len(code) <= 34 or sum(c.isdigit() for c in code) < MIN_DIGITS:
        return False
    return int("".join(str(int(c, 36)) for c in code[4:] + code[:4])) % 97 == 1
