"""A clock that jumps: decisions keep their order, and nothing waits for a time that has passed."""

import json
import shutil

import pytest
from tests.support.checkouts import Checkout

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("faketime") is None, reason="faketime is not installed"),
]
YEAR = "365d"


def run_at(checkout: Checkout, shift: str, *command: str) -> str:
    """Run a command by a clock that is `shift` off, such as -365d; return what it prints."""
    done = checkout.run("faketime", "-f", shift, *command)
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def jumped(line: Checkout) -> Checkout:
    """A version today, one a year before that is promoted then, and a rollback a year ahead."""
    line.replace("params.yaml", "{policy: better, margin: 0.0}", "{policy: not-worse, margin: 0.5}")
    line.run("plumbline", "run")
    line.replace("params.yaml", "\nseed: 3\n", "\nseed: 4\n")
    run_at(line, f"-{YEAR}", "plumbline", "run")
    asked = ("--override", "--reason", "a test")
    run_at(line, f"-{YEAR}", "plumbline", "promote", "line", "2", "--expect", "1", *asked)
    run_at(line, f"+{YEAR}", "plumbline", "rollback", "line", "--expect", "2", "--reason", "a test")
    line.run("plumbline", "run")  # compares with the champion, which is another one
    return line


def test_decisions_count_in_the_order_in_which_they_were_made(jumped: Checkout) -> None:
    assert json.loads((jumped.path / "champion.json").read_text())["line"]["version"] == "1"
    assert "journal: " in (said := jumped.run("plumbline", "fsck").stdout)
    assert "FAIL" not in said
    listed = jumped.run("plumbline", "journal", "line").stdout
    assert listed.index("promote") < listed.index("rollback")


@pytest.mark.parametrize("shift", [f"-{YEAR}", "-2h", f"+{YEAR}"])
def test_a_run_by_another_clock_has_nothing_to_do(jumped: Checkout, shift: str) -> None:
    assert run_at(jumped, shift, "plumbline", "run") == ""
    assert "FAIL" not in run_at(jumped, shift, "plumbline", "fsck")


def test_a_version_that_was_made_later_than_now_is_a_version(jumped: Checkout) -> None:
    jumped.replace("params.yaml", "\nseed: 4\n", "\nseed: 5\n")
    run_at(jumped, f"+{YEAR}", "plumbline", "run")
    done = json.loads((jumped.path / "reports/registration.json").read_text())
    assert done["version"] == "3"
    assert run_at(jumped, f"-{YEAR}", "plumbline", "run") == ""
    assert "FAIL" not in jumped.run("plumbline", "fsck").stdout
