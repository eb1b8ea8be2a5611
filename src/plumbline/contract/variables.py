"""The variables of the environment that plumbline reads under its own name."""

import difflib
import os

from plumbline.contract.errors import ParamsError

PREFIX = "PLUMBLINE_"
NAMES = (
    "CACHE", "COMMIT", "JOURNAL_URI", "LAUNCH", "PRIVATE_KEY", "PROCESSES", "PUBLIC_KEY", "RUN",
    "SCRATCH", "SPARK", "SUBMIT", "TRACKING", "TUNING_STORAGE",
)  # fmt: skip
SIMILARITY = 0.7


def refuse_misspelt_variables() -> None:
    """ParamsError where a variable has nearly the name of one that is read.

    Others are left alone: Kubernetes names variables after a service, such as PLUMBLINE_PORT.
    """
    for variable in sorted(os.environ):
        name = variable.removeprefix(PREFIX)
        if name == variable or name in NAMES:
            continue
        close = difflib.get_close_matches(name, NAMES, n=1, cutoff=SIMILARITY)
        if close:
            raise ParamsError(
                f"the variable {variable} is unknown (did you mean {PREFIX}{close[0]}?); rename or "
                "unset it"
            )
