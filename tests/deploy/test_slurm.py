"""The job of SLURM works in a clone of its own, which it finds again after its node failed."""

import os
import subprocess
from pathlib import Path

from tests.support.checkouts import ROOT, get_clean_environment, join_path

# Stands for `make`: `setup` installs a plumbline that does nothing, `fresh` is cut off once.
MAKE = """#!/bin/sh
if [ "$1" = setup ]; then
  mkdir -p .venv/bin && ln -sf /bin/true .venv/bin/plumbline
elif [ ! -e checkpoint ]; then
  touch checkpoint && exit 9
fi
"""


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_job_that_slurm_starts_again_continues_in_its_clone(tmp_path: Path) -> None:
    submitted, programs = tmp_path / "submitted", tmp_path / "programs"
    for folder in (submitted, programs):
        folder.mkdir()
    (programs / "make").write_text(MAKE)
    (programs / "make").chmod(0o755)
    git(submitted, "init", "-q")
    git(submitted, "commit", "-q", "--allow-empty", "-m", "the commit to train")
    environment = get_clean_environment() | {
        "PATH": join_path(programs, os.environ["PATH"]),
        "SLURM_SUBMIT_DIR": str(submitted),
        "SLURM_JOB_ID": "7",
        "PLUMBLINE_JOBS": str(tmp_path / "jobs"),
        "PLUMBLINE_COMMIT": git(submitted, "rev-parse", "HEAD"),
    }
    (tmp_path / "jobs/7.part/.git").mkdir(parents=True)  # of a clone that was cut off
    codes = []
    for _ in range(2):
        job = subprocess.run(
            [ROOT / "deploy/slurm/pipeline.sh"], env=environment, cwd=submitted, check=False
        )
        codes.append(job.returncode)
    assert codes == [9, 0]
    assert git(tmp_path / "jobs/7", "rev-parse", "HEAD") == environment["PLUMBLINE_COMMIT"]
    assert not (tmp_path / "jobs/7.part").exists()
