"""A scratch checkout to run the real pipeline in."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest

# What a command of a checkout sees of this machine. All else (a setting of Python, MLflow, DVC or a
# workflow) would let a test pass here that fails on another machine.
PASSED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|TMPDIR|TZ|LANG|LC_\w+|PYENV_\w+|PIP_\w+|UV_\w+"
    r"|\w*(CA_BUNDLE|CA_CERTS|SSL_CERT_\w+)|PIP_CERT|(?i:\w+_proxy)|PLUMBLINE_(TEST|COLD)_\w+"
    r"|SPARK_CONF_DIR"
)
ROOT = Path(__file__).resolve().parents[2]
LINE = ROOT / "tests/support/tasks/line"
RECIPE = ROOT / "recipes/text_classification.yaml"  # params.yaml is its user's
# A folder with the data sets `dirty`, `banking77` and `clinc150`; tests that need it skip without.
DATA = Path(os.environ.get("PLUMBLINE_TEST_DATA") or "/nonexistent")


# Where the commands are that start fast (tests/support/warm): set by tests/conftest.py.
warm_commands: list[Path] = []


class Checkout:
    """A copy of this repository under git, in which commands run as a user runs them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.environment = {
            **get_clean_environment(),
            "PATH": join_path(*warm_commands, Path(sys.executable).parent, os.environ["PATH"]),
            "PYTHONPATH": str(path / "src"),
            "DVC_NO_ANALYTICS": "true",
            "COLUMNS": "160",
        }

    def run(
        self, *command: str, code: int | None = 0, **changes: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command here; its exit code must be `code` (None: any)."""
        environment = {**self.environment, **changes}
        program = "python" if command[0] == sys.executable else command[0]  # as PATH finds it
        done = subprocess.run(
            [program, *command[1:]],
            cwd=self.path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if code is not None and done.returncode != code:
            exits = f"exit {done.returncode}, expected {code}"
            pytest.fail(f"{' '.join(command)}: {exits}\n{done.stdout}\n{done.stderr}")
        return done

    def commit(self, message: str) -> None:
        """Commit all that is here."""
        self.run("git", "add", "-A")
        self.run("git", "commit", "-qm", message)

    @property
    def head(self) -> str:
        """The hash of the last commit."""
        return self.run("git", "rev-parse", "HEAD").stdout.strip()

    @property
    def store(self) -> str:
        """The address of MLflow's database here."""
        return f"sqlite:///{self.path}/mlruns/mlflow.db"

    def read_report(self, name: str) -> Any:
        """Read a JSON file of reports/."""
        return json.loads((self.path / f"reports/{name}.json").read_text(encoding="utf-8"))

    def replace(self, file: str, old: str, new: str) -> None:
        path = self.path / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} holds no {old!r}"
        path.write_text(text.replace(old, new), encoding="utf-8")


def find_python() -> str:
    """Return the interpreter that starts fast; the real one where it cannot be used."""
    return str(warm_commands[0] / "python") if warm_commands else sys.executable


def get_clean_environment() -> dict[str, str]:
    """Return the variables of this machine that a command of a checkout may see."""
    return {key: value for key, value in os.environ.items() if PASSED_ON.fullmatch(key)}


def join_path(*folders: Path | str) -> str:
    """Join folders into a value for PATH."""
    return os.pathsep.join(map(str, folders))


def make_checkout(path: Path) -> Checkout:
    """Copy all files that git knows or would add, but no tests, into a new repository.

    What its user changed in params.yaml and champion.json is as it was shipped.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in listed:
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, path / name)
            copy_bytecode(ROOT / name, path / name)
    shutil.copy2(RECIPE, path / "params.yaml")
    (path / "champion.json").write_text("{}\n", encoding="utf-8")
    checkout = Checkout(path)
    checkout.run("git", "init", "-q", "-b", "main")
    checkout.run("git", "config", "user.name", "test")
    checkout.run("git", "config", "user.email", "test@example.com")
    checkout.run("git", "config", "commit.gpgsign", "false")
    return checkout


def copy_bytecode(source: Path, target: Path) -> None:
    """Copy what Python compiled of a module: it holds for a copy that is as old."""
    compiled = Path(cache_from_source(str(source)))
    if source.suffix == ".py" and compiled.is_file():
        copy = Path(cache_from_source(str(target)))
        copy.parent.mkdir(exist_ok=True)
        shutil.copy2(compiled, copy)
