"""What validate wrote: whether data were accepted, and which."""

import json
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import explain_damage


def read_validation() -> dict[str, Any]:
    """Read reports/validation.json; DataError where it is missing or damaged."""
    with explain_damage(layout.VALIDATION, "run `dvc repro validate`"):
        report: dict[str, Any] = json.loads(layout.VALIDATION.read_bytes())
        return report
