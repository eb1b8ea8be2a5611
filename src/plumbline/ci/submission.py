"""Hands a training to another scheduler, such as SLURM's, and does not wait for its end."""

import os
import subprocess
import sys

from plumbline.ci import kept_registry
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.process.lineage import ask_git
from plumbline.registry import journal

COMMAND = "PLUMBLINE_SUBMIT"  # the variable with the command that submits
COMMIT = "PLUMBLINE_COMMIT"  # the variable that tells the job which commit to train
# By this variable a runner of GitHub finds what its job left behind, and ends it.
RUNNER_JOB = "RUNNER_TRACKING_ID"
NOTHING = "Nothing was submitted"


def submit_training() -> tuple[str, str]:
    """Run the command in $PLUMBLINE_SUBMIT; return the commit to train, and what it printed.

    The shell runs it, with the commit in $PLUMBLINE_COMMIT. Raises ParamsError where it is not set,
    where this registry is not one that the job can share, and for changes that are in no commit;
    JournalError where no journal is named; PlumblineError where the command fails.
    """
    command = os.environ.get(COMMAND)
    if not command:
        raise ParamsError(
            f"{COMMAND} is not set; expected a command such as `sbatch deploy/slurm/pipeline.sh`"
        )
    if not kept_registry.is_registry_shared():
        raise ParamsError(
            "the registry is in this checkout, where a job elsewhere registers nothing: set "
            f"MLFLOW_TRACKING_URI to an MLflow server and PLUMBLINE_JOURNAL_URI. {NOTHING}"
        )
    journal.find_journal_uri()
    commit = _find_commit()
    shell = ["sh", "-c", command]
    variables = {**os.environ, COMMIT: commit, RUNNER_JOB: ""}
    done = subprocess.run(shell, env=variables, stdout=subprocess.PIPE, check=False)
    output = done.stdout.decode(errors="replace").strip()
    if done.returncode:
        sys.stderr.write(f"{output}\n" if output else "")
        raise PlumblineError(
            f"{COMMAND}: `{command}` ended with exit code {done.returncode}; the "
            "reason is above. Look at the scheduler's queue before you submit again"
        )
    return commit, output


def _find_commit() -> str:
    """Return the commit that is checked out; raise ParamsError where files differ from it."""
    commit = ask_git("rev-parse", "HEAD")
    changed = ask_git("diff", "--name-only", "HEAD")
    if not commit or changed != "":
        raise ParamsError(
            "the job trains a commit, and the files here are of none: run `git diff HEAD`, and "
            f"commit what it shows. {NOTHING}"
        )
    return commit
