"""The result of one check, in the same form for all of them."""

import re
from dataclasses import dataclass

from plumbline.contract.errors import PlumblineError


@dataclass(frozen=True)
class DiagnosticResult:
    """What was checked, what was found, and what to do if it is wrong.

    A result that is ok and has a remedy is a warning.
    """

    what: str
    ok: bool
    message: str
    remedy: str = ""


def report_error(what: str, error: PlumblineError, remedy: str) -> DiagnosticResult:
    """Return an error as a fault, with its own remedy; with `remedy`, where it names none."""
    message, *rest = re.split(r"; |\. ", str(error), maxsplit=1)
    return DiagnosticResult(what, False, message, rest[0] if rest else remedy)
