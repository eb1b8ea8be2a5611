"""What a stage says is fit for any terminal, and its params are those that it began with."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT, Checkout, get_clean_environment


def run_train(folder: Path, candidate: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the stage train in a folder that has params.yaml alone."""
    recipe = (ROOT / "recipes/text_classification.yaml").read_text(encoding="utf-8")
    (folder / "params.yaml").write_text(recipe, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-P", ROOT / "pipelines/train.py", candidate],
        cwd=folder,
        env={**get_clean_environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_stage_by_itself_refuses_packages_that_are_not_as_locked(tmp_path: Path) -> None:
    (tmp_path / "requirements.lock").write_text("numpy==0.1 \\\n", encoding="utf-8")
    done = run_train(tmp_path, "linear")
    assert done.returncode == 2
    assert done.stderr.startswith("train: 1 installed packages differ from the locks: numpy ")


def test_an_error_cannot_command_the_terminal(tmp_path: Path) -> None:
    """A class, column or file may be named so; a workflow's log takes lines as commands."""
    name = "a\x1b[2J\n::notice title=promote::done\n.csv"
    code = "from plumbline.cli import main; main()"
    command = [sys.executable, "-c", code, "init", str(tmp_path / "new"), "--data", name]
    environment = get_clean_environment() | {"GITHUB_ACTIONS": "true"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, env=environment
    )
    assert done.returncode != 0
    assert "a\ufffd[2J\n: :notice title=promote::done" in done.stderr
    (annotation,) = done.stdout.splitlines()
    assert annotation.startswith("::error title=plumbline::")
    assert annotation.isprintable()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_letters_that_the_output_cannot_have_are_escaped(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/own.yaml").write_text("# 你好 😀\n", encoding="utf-8")
    code = "from plumbline.cli import main; main()"
    command = [sys.executable, "-c", code, "recipe", "own"]
    environment = get_clean_environment() | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(
        command, capture_output=True, timeout=600, check=False, env=environment, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == rb"# \u4f60\u597d \U0001f600" + b"\n"


def test_a_stage_whose_params_are_edited_meanwhile_runs_again(line: Checkout) -> None:
    """DVC reads params when a stage has ended: the old model would be that of the new values."""
    code = "    torch.manual_seed(params.seed)"
    edit = '__import__("os").system("mkdir once && cp params.yaml once && : > params.yaml")'
    line.replace("src/tasks/line/models/__init__.py", code, f"{code}; {edit}")
    said = line.run("dvc", "repro", "train@gradient", code=None).stderr
    assert "train: params.yaml: task was changed while train ran" in said
    assert "Traceback" not in said
    line.run("cp", "once/params.yaml", ".")
    again = line.run("dvc", "repro", "train@gradient")
    assert "gradient: epoch 4/4" not in again.stdout + again.stderr  # what was trained is kept
    runs = "SELECT status FROM runs WHERE name = 'train gradient' ORDER BY start_time"
    with closing(sqlite3.connect(line.path / "mlruns/mlflow.db")) as database:
        assert database.execute(runs).fetchall() == [("FAILED",), ("FINISHED",)]
