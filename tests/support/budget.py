"""The slow tests of a push: what they begin with, and what is left to the night.

PLUMBLINE_TEST_UNTIL, in seconds since 1970, is when no slow test begins any more; .ci/run sets it.
The first run as shipped comes first and is always whole, then what the push changed, then the other
files in an order that each commit draws anew. Without the variable all tests run.
"""

import hashlib
import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

FIRST = "e2e/test_first_run.py"
LEFT_OUT = "left out: the time of a push is spent"


class Budget:
    """Leaves out the slow tests that would begin too late, and prints their names."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.has_run = False  # a push that runs no slow test at all has shown nothing

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Sort the files of slow tests; the order of all others stays."""
        root = config.rootpath
        commit, changed = _git(root, "rev-parse", "HEAD"), list_changed(root)

        def rank(item: pytest.Item) -> tuple[int, str]:
            if not is_slow(item):
                return 0, ""
            file = item.path.relative_to(root / "tests")
            group = 1 if file.as_posix() == FIRST else 2 if is_affected(file, changed) else 3
            return group, hashlib.sha256(f"{commit} {file}".encode()).hexdigest()

        items.sort(key=rank)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        is_late = self.has_run and time.time() > self.until
        if is_late and is_slow(item) and not item.path.match(FIRST):
            pytest.skip(LEFT_OUT)

    def pytest_runtest_call(self) -> None:
        self.has_run = True

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        is_left_out = report.skipped and LEFT_OUT in str(report.longrepr)
        return ("deselected", "d", "LEFT OUT") if is_left_out else None

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        stats = terminalreporter.stats
        left_out = [report.nodeid for report in stats.get("deselected", [])]
        run = {
            report.nodeid.partition("::")[0]
            for outcome in ("passed", "failed", "error", "skipped")
            for report in stats.get(outcome, [])
        }
        files = [name.partition("::")[0] for name in left_out]
        names = {
            name if file in run else f"{file} (all {files.count(file)})"
            for name, file in zip(left_out, files, strict=True)
        }
        if names:
            terminalreporter.section(f"{LEFT_OUT}; the nightly workflow runs these {len(left_out)}")
            terminalreporter.write_line("\n".join(sorted(names)))


def pytest_configure(config: pytest.Config) -> None:
    """Keep to the time, where one is given."""
    if until := os.environ.get("PLUMBLINE_TEST_UNTIL"):
        config.pluginmanager.register(Budget(float(until)))


def is_slow(item: pytest.Item) -> bool:
    """Say whether a test is marked as slow."""
    return item.get_closest_marker("slow") is not None


def is_affected(file: Path, changed: Iterable[str]) -> bool:
    """Say whether a test file, named from tests/, or the room that it tests is among `changed`."""
    folder = file.parent.as_posix()
    rooms = (f"src/plumbline/{folder}/", f"{folder}/", f".github/{folder}/")
    return any(path == f"tests/{file.as_posix()}" or path.startswith(rooms) for path in changed)


def list_changed(root: Path) -> list[str]:
    """List the files that differ from PLUMBLINE_TEST_BASE, else from what main was.

    Where neither is known, or is this commit itself: from the commit before.
    """
    for base in (os.environ.get("PLUMBLINE_TEST_BASE"), "origin/HEAD", "HEAD~1"):
        if base and (changed := _git(root, "diff", "--name-only", f"{base}...HEAD").splitlines()):
            return changed
    return []


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""
