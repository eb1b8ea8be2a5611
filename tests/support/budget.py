"""The slow tests of a push: what they begin with, and what is left to the night.

PLUMBLINE_TEST_UNTIL, in seconds since 1970, is when no slow test begins any more; .ci/run sets it.
The first run as shipped comes first and is always whole, then the rooms that the push changed, then
the other files in an order that each commit draws anew. Without the variable all tests run.
"""

import hashlib
import os
import subprocess
import time

import pytest
from _pytest.terminal import TerminalReporter

UNTIL = float(os.environ.get("PLUMBLINE_TEST_UNTIL") or "inf")
FIRST = "e2e/test_first_run.py"
LEFT_OUT = "left out: the time of a push is spent"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the files of slow tests; the order of all others stays."""
    if "PLUMBLINE_TEST_UNTIL" not in os.environ:
        return
    root, base = config.rootpath, os.environ.get("PLUMBLINE_TEST_BASE") or "HEAD~1"
    command = ["git", "-C", str(root), "diff", "--name-only", f"{base}...HEAD"]
    changed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    rooms = {part for name in changed for part in name.split("/")[:-1]}
    draw = hashlib.sha256(" ".join(changed).encode())

    def rank(item: pytest.Item) -> tuple[int, str]:
        if not item.get_closest_marker("slow"):
            return 0, ""
        group = 1 if item.path.match(FIRST) else 2 if item.path.parent.name in rooms else 3
        drawn = draw.copy()
        drawn.update(str(item.path.relative_to(root)).encode())
        return group, drawn.hexdigest()

    items.sort(key=rank)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out a slow test that would begin too late."""
    if time.time() > UNTIL and item.get_closest_marker("slow") and not item.path.match(FIRST):
        pytest.skip(LEFT_OUT)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Name the files of which tests were left out."""
    skipped = terminalreporter.stats.get("skipped", [])
    late = [report.nodeid for report in skipped if LEFT_OUT in str(report.longrepr)]
    if late:
        terminalreporter.section(f"{LEFT_OUT}; the nightly workflow runs these {len(late)}")
        names = sorted({name.partition("::")[0] for name in late})
        terminalreporter.write_line("\n".join(names))
