"""A fault at one named place of a command: see sitecustomize.py, which every process loads."""

import os
import sys
from pathlib import Path

from tests.support.checkouts import Checkout, join_path


def describe_fault(checkout: Checkout, fault: str) -> dict[str, str]:
    """Return the variables with which a real command of `checkout` meets PLACE|PATTERN|ACTION."""
    return {
        "PLUMBLINE_TEST_FAULT": fault,
        "PYTHONPATH": join_path(Path(__file__).parent, checkout.environment["PYTHONPATH"]),
        "PATH": join_path(Path(sys.executable).parent, os.environ["PATH"]),  # no warm process
    }
