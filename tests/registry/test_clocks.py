"""A clock that jumps: decisions keep their order, and nothing waits for a time that has passed."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tests.support.checkouts import Checkout, join_path
from tests.support.warm import commands

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("faketime") is None, reason="faketime is not installed"),
]
YEAR = "365d"
YEAR_S = 365 * 24 * 3600


class ShiftedClock:
    """Runs commands by a clock that is off, in forks of a warm Python that has this clock.

    A fork of the tests' common one has the clock of that one, whatever its variables say.
    """

    def __init__(self, folder: Path) -> None:
        self._shift = folder / "shift"
        library = ["faketime", "-f", "+0s", "printenv", "LD_PRELOAD"]
        self._environment = {
            "LD_PRELOAD": subprocess.check_output(library, text=True).strip(),
            "FAKETIME_TIMESTAMP_FILE": str(self._shift),
            "FAKETIME_NO_CACHE": "1",
        }
        self._folders: list[Path] = []
        if commands.can_be_used():
            self._folders.append(commands.write_commands(folder / "warm", os.getpid()))

    def run(self, checkout: Checkout, shift: str, *command: str) -> str:
        """Run a command by a clock that is `shift` off, such as -365d; return what it prints."""
        self._shift.write_text(shift)
        path = join_path(*self._folders, checkout.environment["PATH"])
        done = checkout.run(*command, code=0, PATH=path, **self._environment)
        assert "Traceback" not in done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> ShiftedClock:
    return ShiftedClock(tmp_path_factory.mktemp("clock"))


@pytest.fixture(scope="module")
def jumped(line: Checkout, clock: ShiftedClock) -> Checkout:
    """A version today, one a year before that is promoted then, and a rollback a year ahead."""
    line.replace("params.yaml", "{policy: better, margin: 0.0}", "{policy: not-worse, margin: 0.5}")
    line.run("plumbline", "run")
    line.replace("params.yaml", "\nseed: 3\n", "\nseed: 4\n")
    clock.run(line, f"-{YEAR}", "plumbline", "run")
    asked = ("--override", "--reason", "a test")
    clock.run(line, f"-{YEAR}", "plumbline", "promote", "line", "2", "--expect", "1", *asked)
    back = ("rollback", "line", "--expect", "2", "--reason", "a test")
    clock.run(line, f"+{YEAR}", "plumbline", *back)
    line.run("plumbline", "run")  # compares with the champion, which is another one
    return line


@pytest.mark.parametrize("years", [-1, 0, 1])
def test_a_stage_has_the_clock_that_a_command_is_given(
    years: int, line: Checkout, clock: ShiftedClock
) -> None:
    code = "import time; print(time.time())"
    said = float(clock.run(line, f"{365 * years:+}d", "python", "-c", code))
    assert abs(said - time.time() - years * YEAR_S) < 600


def test_decisions_count_in_the_order_in_which_they_were_made(jumped: Checkout) -> None:
    assert json.loads((jumped.path / "champion.json").read_text())["line"]["version"] == "1"
    assert "journal: " in (said := jumped.run("plumbline", "doctor", "--full").stdout)
    assert "FAIL" not in said
    listed = jumped.run("plumbline", "journal", "line").stdout
    assert listed.index("promote") < listed.index("rollback")


@pytest.mark.parametrize("shift", [f"-{YEAR}", "-2h", f"+{YEAR}"])
def test_a_run_by_another_clock_has_nothing_to_do(
    shift: str, jumped: Checkout, clock: ShiftedClock
) -> None:
    assert clock.run(jumped, shift, "plumbline", "run").startswith("unchanged: ingest, ")
    assert "FAIL" not in clock.run(jumped, shift, "plumbline", "doctor", "--full")


def test_a_version_that_was_made_later_than_now_is_a_version(
    jumped: Checkout, clock: ShiftedClock
) -> None:
    jumped.replace("params.yaml", "\nseed: 4\n", "\nseed: 5\n")
    clock.run(jumped, f"+{YEAR}", "plumbline", "run")
    done = json.loads((jumped.path / "reports/registration.json").read_text())
    assert done["version"] == "3"
    assert clock.run(jumped, f"-{YEAR}", "plumbline", "run").startswith("unchanged: ingest, ")
    assert "FAIL" not in jumped.run("plumbline", "doctor", "--full").stdout
