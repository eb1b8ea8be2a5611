"""What validate wrote: whether data were accepted, and which."""

import json
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import DataError


def read_validation() -> dict[str, Any]:
    """Read reports/validation.json; DataError where it is missing or damaged."""
    try:
        report = json.loads(layout.VALIDATION.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"{layout.VALIDATION}: cannot be read ({error}); run `dvc repro validate`"
        ) from None
    if not isinstance(report, dict):
        raise DataError(f"{layout.VALIDATION}: not a JSON object; run `dvc repro validate`")
    _require_results(report.get("checks", []))
    return report


def _require_results(checks: Any) -> None:
    """DataError for anything but a list of results; what each says is for the reader to judge."""
    results = checks if isinstance(checks, list) else [checks]
    for result in results:
        match result:
            case {"name": str(), "severity": str(), "passed": _}:
                continue
        raise DataError(
            f"{layout.VALIDATION}: damaged (a check without name, severity or result: "
            f"{str(result)[:80]}); run `dvc repro validate`"
        )
