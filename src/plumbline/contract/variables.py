"""The variables of the environment that plumbline reads under its own name."""

import difflib
import os
import re

from plumbline.contract.errors import ParamsError

PREFIX = "PLUMBLINE_"
NAMES = (
    "CACHE", "COMMIT", "JOURNAL_URI", "PRIVATE_KEY", "PUBLIC_KEY", "RUN",
    "SUBMIT", "TRACKING", "TUNING_STORAGE",
)  # fmt: skip
SIMILARITY = 0.7
# Kubernetes sets such variables, which it names after each service.
OF_A_SERVICE = re.compile(r"_(PORT|SERVICE_HOST|SERVICE_PORT)(_|$)")


def refuse_misspelt_variables() -> None:
    """ParamsError where a variable has nearly the name of one that is read; others may be set."""
    for variable in sorted(os.environ):
        name = variable.removeprefix(PREFIX)
        if name == variable or name in NAMES or OF_A_SERVICE.search(variable):
            continue
        close = difflib.get_close_matches(name, NAMES, n=1, cutoff=SIMILARITY)
        if close:
            raise ParamsError(
                f"the variable {variable} is unknown (did you mean {PREFIX}{close[0]}?); rename or "
                "unset it"
            )
