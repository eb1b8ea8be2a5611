"""Personal data in texts: found by rules with few false alarms, masked where a text is shown."""

import re
from collections.abc import Iterator

CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b", re.IGNORECASE)
MIN_DIGITS = 8  # every IBAN has more; words in a row do not


def find_personal_data(text: str) -> list[str]:
    """Return the kinds of personal data in `text`: card number, e-mail address, IBAN."""
    return sorted({kind for kind, _, _ in _locate(text)})


def mask_personal_data(text: str) -> str:
    """Return `text` with personal data replaced by its kind in brackets."""
    for kind, start, end in reversed(list(_locate(text))):
        text = f"{text[:start]}[{kind}]{text[end:]}"
    return text


def _locate(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of each, from left to right, without overlaps."""
    last_end = 0
    for kind, match in sorted(_match_all(text), key=lambda item: item[1].start()):
        if match.start() >= last_end:
            last_end = match.end()
            yield kind, match.start(), match.end()


def _match_all(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    if "@" in text:
        for match in EMAIL.finditer(text):
            yield "e-mail address", match
    for match in CARD.finditer(text):
        if _is_card_number(match.group()):
            yield "card number", match
    for match in IBAN.finditer(text):
        iban = _shorten_to_iban(match, text)
        if iban:
            yield "IBAN", iban


def _shorten_to_iban(match: re.Match[str], text: str) -> re.Match[str] | None:
    """Drop words at the end until the check digits fit: they were taken for the last groups."""
    candidate: re.Match[str] | None = match
    while candidate and not _is_iban(candidate.group()):
        shorter = candidate.group().rpartition(" ")[0]
        candidate = IBAN.fullmatch(text, candidate.start(), candidate.start() + len(shorter))
    return candidate


def _is_card_number(number: str) -> bool:
    """Check the last digit (ISO/IEC 7812-1); one digit repeated is not a card number."""
    digits = [int(character) for character in number if character.isdigit()][::-1]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    """Check the check digits of an IBAN (ISO 13616-1)."""
    code = text.replace(" ", "").upper()
    num_digits = sum(character.isdigit() for character in code)
    if not 15 <= len(code) <= 34 or num_digits < MIN_DIGITS:
        return False
    rearranged = code[4:] + code[:4]
    number = int("".join(str(int(character, 36)) for character in rearranged))
    return number % 97 == 1
