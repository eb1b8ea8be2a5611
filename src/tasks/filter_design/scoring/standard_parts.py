"""Whether parts can be bought: the preferred numbers of IEC 60063."""

import math

from tasks.filter_design.scoring.oracle import NANO, PICO, LadderDesign

TOLERANCE = 1e-6  # of a value, that units may cost
_E24 = "10 11 12 13 15 16 18 20 22 24 27 30 33 36 39 43 47 51 56 62 68 75 82 91"  # tenths
NUMBERS = {
    "E12": tuple(int(number) / 10 for number in _E24.split()[::2]),
    "E24": tuple(int(number) / 10 for number in _E24.split()),
    "E96": tuple(round(10 ** (place / 96), 2) for place in range(96)),
}


def describe_other_part(series: str, ladder: LadderDesign) -> str | None:
    """Name the first part whose value the series does not have; None if it has them all."""
    parts = [(value / NANO, "nH") for value in ladder.inductors]
    parts += [(value / PICO, "pF") for value in ladder.capacitors]
    for value, unit in parts:
        if not is_preferred(series, value):
            return f"{value:.6g} {unit} is not a value of {series}"
    return None


def is_preferred(series: str, value: float) -> bool:
    """Whether the series has the value, in any decade."""
    digits = value / 10 ** math.floor(math.log10(value) + TOLERANCE / 10)
    return any(abs(digits - number) <= TOLERANCE * number for number in NUMBERS[series])
