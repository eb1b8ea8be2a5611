"""How answers are compared: the functions of the predictor of answer_consensus, for live answers.

A server has no task beside its bundle, and agents may be asked before there is a bundle.
"""

import re
from collections.abc import Callable
from decimal import Context, Decimal

from plumbline.contract.errors import PlumblineError

NUMBER = re.compile(r"-?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)")
MAX_CHARS = 10_000  # of an answer, from its end
PLACES, EXACT = Decimal("0.0001"), Context(prec=MAX_CHARS + 10)  # of numbers that are compared


def load_normaliser(form: str) -> Callable[[str], str]:
    """Return the function of a form; PlumblineError for one that the task does not know."""
    if form not in NORMALISERS:
        known = ", ".join(NORMALISERS)
        raise PlumblineError(f"normalise: {form!r:.60} is not known; expected one of {known}")
    return NORMALISERS[form]


def normalise_case(text: str) -> str:
    """Return the text in lower case, with single blanks."""
    return " ".join(text.casefold().split())


def normalise_number(text: str) -> str:
    """Return the last number in the text, without commas, to 4 places; empty without one."""
    numbers = NUMBER.findall(text[-MAX_CHARS:])
    if not numbers:
        return ""
    value = Decimal(numbers[-1].replace(",", "")).quantize(PLACES, context=EXACT)
    plain = f"{value:f}".rstrip("0").rstrip(".")
    return "0" if plain == "-0" else plain


NORMALISERS: dict[str, Callable[[str], str]] = {
    "exact": str.strip,
    "casefold": normalise_case,
    "number": normalise_number,
}
