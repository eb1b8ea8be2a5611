"""What `.ci/run` leaves to the night: slow tests that would begin too late."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT, Checkout, join_path

SLOW = """import pytest
pytestmark = pytest.mark.slow
def test_one(): pass
def test_two(): pass
"""
FIRST, CHANGED = "e2e/test_first_run.py", "stages/test_train.py"
OTHERS = [f"{room}/test_{room}.py" for room in ("bundle", "cli", "init", "serving", "tuning")]


@pytest.fixture
def repository(tmp_path: Path) -> Checkout:
    """A repository with two slow tests in each file, whose last commit changed a stage."""
    made = Checkout(tmp_path)
    # A pytest with processes of its own is no program for the server of warm commands.
    made.environment["PATH"] = join_path(Path(sys.executable).parent, os.environ["PATH"])
    made.environment["PYTHONPATH"] = str(tmp_path)
    (tmp_path / "tests/support").mkdir(parents=True)
    shutil.copy2(ROOT / "tests/support/budget.py", tmp_path / "tests/support")
    options = "-p tests.support.budget -p no:schemathesis -p no:hydra_pytest -m slow"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nmarkers = slow\naddopts = {options}\n")
    for file in (FIRST, CHANGED, *OTHERS):
        (tmp_path / "tests" / file).parent.mkdir()
        (tmp_path / "tests" / file).write_text(SLOW)
    made.run("git", "init", "-q", "-b", "main")
    commit(made, "tests")
    (tmp_path / "src/plumbline/stages").mkdir(parents=True)
    (tmp_path / "src/plumbline/stages/train.py").touch()
    commit(made, "a stage")
    return made


def test_what_begins_too_late_is_named_and_not_counted_as_passed(repository: Checkout) -> None:
    command = ("python", "-m", "pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
    said = repository.run(*command, PLUMBLINE_TEST_UNTIL="0").stdout
    # The whole first run; and each process has run a test.
    assert "3 passed, 11 deselected" in said.splitlines()[-1]
    assert f"tests/{CHANGED}::test_two" in said.splitlines()
    for file in OTHERS:
        assert f"tests/{file} (all 2)" in said.splitlines()


def commit(repository: Checkout, subject: str, *options: str) -> None:
    """Commit all there is."""
    author = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    repository.run("git", "add", "-A")
    repository.run("git", *author, "commit", "-qm", subject, *options)
