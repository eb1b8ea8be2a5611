"""How often a test tries what chance decides: in part with each push, in full every night."""

import os


def choose_effort(push: int, night: int) -> int:
    """Choose how many cases or rounds: `night` where PLUMBLINE_TEST_NIGHTLY is set, else `push`.

    For tests that draw other cases in each run: many small runs see as much as a few large ones.
    """
    return night if os.environ.get("PLUMBLINE_TEST_NIGHTLY") else push
