"""Faults of any task in what says that the data are sound."""

from typing import Any

from plumbline.contract import layout
from plumbline.process.files import read_json, write_json
from plumbline_selftest.protocol import Fault, FaultSite


def _empty_checks(site: FaultSite) -> None:
    """Accept the data without a check; the digest of the suite is the right one."""
    _replace_checks([])


def _soften_checks(site: FaultSite) -> None:
    """Let every check fail, and call it a warning."""
    checks = read_json(layout.VALIDATION)["checks"]
    _replace_checks([check | {"severity": "warning", "passed": False} for check in checks])


def _repeat_check(site: FaultSite) -> None:
    """Replace the result of the first check by a second one of the last."""
    checks = read_json(layout.VALIDATION)["checks"]
    _replace_checks([*checks[1:], checks[-1]])


def _replace_checks(checks: list[dict[str, Any]]) -> None:
    write_json(layout.VALIDATION, read_json(layout.VALIDATION) | {"checks": checks})


FAULTS = (
    Fault("a validation without any check", "accepted", "refuse", _empty_checks),
    Fault("failed checks that are called warnings", "accepted", "refuse", _soften_checks),
    Fault("a check left out, another one there twice", "accepted", "refuse", _repeat_check),
)
