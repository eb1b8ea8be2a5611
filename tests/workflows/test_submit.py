"""The workflow `retrain` where another scheduler trains: it submits, and waits for nothing."""

from pathlib import Path

import pytest
from tests.support.checkouts import Checkout
from tests.support.workflows.runner import Hosting

SUBMITTED = dict.fromkeys(("newest", "submit"), "success")
SUBMITTED |= dict.fromkeys(("train", "keep", "ask"), "skipped")


@pytest.fixture
def hosting(line: Checkout, tmp_path: Path) -> Hosting:
    """A repository of lines with a shared registry, and a scheduler that keeps what it gets."""
    scheduler = tmp_path / "sbatch"
    scheduler.write_text(f'#!/bin/sh\necho "$PWD $PLUMBLINE_COMMIT $*" >> {tmp_path}/queue\n')
    scheduler.chmod(0o755)
    hosted = Hosting(line, tmp_path)
    hosted.variables["PLUMBLINE_SUBMIT"] = f"{scheduler} deploy/slurm/pipeline.sh"
    hosted.secrets["MLFLOW_TRACKING_URI"] = "http://127.0.0.1:9"
    hosted.secrets["PLUMBLINE_JOURNAL_URI"] = "postgresql+psycopg2://127.0.0.1:9/journal"
    return hosted


def test_the_commit_of_main_is_submitted_in_a_whole_clone(hosting: Hosting) -> None:
    jobs = hosting.run("retrain")
    assert {name: job.result for name, job in jobs.items()} == SUBMITTED
    folder, commit, script = (hosting.folder / "queue").read_text().split()
    assert commit == hosting.origin.head
    assert (Path(folder) / script).is_file()
    assert not (Path(folder) / ".git/shallow").exists()  # the report needs the champion's commit


def test_without_a_shared_registry_nothing_is_submitted(hosting: Hosting) -> None:
    del hosting.secrets["MLFLOW_TRACKING_URI"]
    jobs = hosting.run("retrain")
    assert {name: job.result for name, job in jobs.items()} == SUBMITTED | {"submit": "failure"}
    assert "the registry is in this checkout" in jobs["submit"].log
    assert not (hosting.folder / "queue").exists()
