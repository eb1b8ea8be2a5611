"""When two answers are equal: what is compared of an answer and of gold.

The predictor travels alone and has its own copy; a test holds the two against each other.
"""

import re
from collections.abc import Callable
from decimal import Context, Decimal

NUMBER = re.compile(r"-?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)")
MAX_CHARS = 10_000  # of an answer, from its end
PLACES, EXACT = Decimal("0.0001"), Context(prec=MAX_CHARS + 10)


def find_normaliser(name: str) -> Callable[[str], str]:
    """Return the function that `data.normalise` names; it returns nothing where nothing is said.

    exact: without blanks at the ends · casefold: in lower case, with single blanks · number: the
    last number, without commas, to 4 places
    """
    functions: dict[str, Callable[[str], str]] = {
        "exact": str.strip,
        "casefold": _fold_case,
        "number": _find_last_number,
    }
    return functions[name]


def _fold_case(text: str) -> str:
    return " ".join(text.casefold().split())


def _find_last_number(text: str) -> str:
    numbers = NUMBER.findall(text[-MAX_CHARS:])
    if not numbers:
        return ""
    value = Decimal(numbers[-1].replace(",", "")).quantize(PLACES, context=EXACT)
    plain = f"{value:f}".rstrip("0").rstrip(".")
    return "0" if plain == "-0" else plain
