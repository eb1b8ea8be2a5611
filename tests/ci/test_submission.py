"""A training that another scheduler runs: what it gets, and what is not submitted."""

from pathlib import Path

import pytest
from tests.support.checkouts import Checkout

SERVER = {
    "MLFLOW_TRACKING_URI": "http://127.0.0.1:9",
    "PLUMBLINE_JOURNAL_URI": "postgresql+psycopg2://127.0.0.1:9/journal",
}


def write_scheduler(folder: Path, script: str) -> str:
    """Write a command that stands for `sbatch`, which is found by its path."""
    path = folder / "queue up"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return f"'{path}' --time 60 'a job.sh'"


def test_the_scheduler_gets_the_commit_and_its_words_are_passed_on(
    line: Checkout, tmp_path: Path
) -> None:
    got = tmp_path / "got"
    script = (
        f'echo "$PLUMBLINE_COMMIT:$MLFLOW_TRACKING_URI:$RUNNER_TRACKING_ID:$3" > {got}\n'
        "echo Submitted batch job 4711"
    )
    submit = {"PLUMBLINE_SUBMIT": write_scheduler(tmp_path, script), "GITHUB_ACTIONS": "true"}
    done = line.run(
        "plumbline", "run", "--submit", **SERVER, **submit, RUNNER_TRACKING_ID="github_1"
    )
    commit = line.head
    assert got.read_text() == f"{commit}:{SERVER['MLFLOW_TRACKING_URI']}::a job.sh\n"
    assert done.stdout.splitlines() == [
        "Submitted batch job 4711",
        f"submitted: the training of commit {commit[:12]}",
        "::notice title=submitted::Submitted batch job 4711",
    ]


@pytest.mark.parametrize(
    ("changed", "code", "said"),
    [
        ({"PLUMBLINE_SUBMIT": ""}, 2, "PLUMBLINE_SUBMIT is not set; expected a command such as"),
        (
            {"PLUMBLINE_SUBMIT": "nowhere/sbatch x"},
            1,
            "`nowhere/sbatch x` ended with exit code 127",
        ),
        ({"MLFLOW_TRACKING_URI": ""}, 2, "the registry is in this checkout"),
        ({"PLUMBLINE_JOURNAL_URI": ""}, 1, "need a journal that all who decide share"),
        ({"MLFLOW_TRACKING_URI": "postgresql://127.0.0.1:9/m"}, 2, "need an MLflow server"),
    ],
    ids=["no command", "not there", "a local registry", "no journal", "a database alone"],
)
def test_what_no_job_could_use_is_not_submitted(
    line: Checkout, tmp_path: Path, changed: dict[str, str], code: int, said: str
) -> None:
    submit = {"PLUMBLINE_SUBMIT": write_scheduler(tmp_path, "touch submitted")}
    done = line.run("plumbline", "run", "--submit", code=code, **{**SERVER, **submit, **changed})
    assert said in done.stderr
    assert not (line.path / "submitted").exists()


def test_a_scheduler_that_refuses_is_named_with_its_own_words(
    line: Checkout, tmp_path: Path
) -> None:
    submit = {"PLUMBLINE_SUBMIT": write_scheduler(tmp_path, "echo no such partition; exit 3")}
    done = line.run("plumbline", "run", "--submit", code=1, **SERVER, **submit)
    reason, message = done.stderr.splitlines()
    assert reason == "no such partition"
    assert "ended with exit code 3; the reason is above. Look at the scheduler's queue" in message


def test_changes_that_are_in_no_commit_are_not_left_out_silently(
    line: Checkout, tmp_path: Path
) -> None:
    submit = {"PLUMBLINE_SUBMIT": write_scheduler(tmp_path, "touch submitted")}
    line.replace("params.yaml", "seed: 3", "seed: 4")
    done = line.run("plumbline", "run", "--submit", code=2, **SERVER, **submit)
    line.replace("params.yaml", "seed: 4", "seed: 3")
    assert "run `git diff HEAD`, and commit what it shows" in done.stderr
    assert not (line.path / "submitted").exists()
