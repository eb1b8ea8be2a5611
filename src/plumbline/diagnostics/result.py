"""The result of one check, in the same form for all commands that look for faults."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DiagnosticResult:
    """What was checked, what was found, and what to do if it is wrong.

    A result that is ok and has a remedy is a warning.
    """

    what: str
    ok: bool
    message: str
    remedy: str = ""
