"""From pipelines/<stage>.py to one call of one stage: parameters are checked first.

In a repository by `plumbline init` the command is `python -P -m plumbline.entrypoint STAGE`.
"""

import argparse
import importlib
import os
import socket
import sys
from contextlib import nullcontext

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.loading import load_params, load_task
from plumbline.contract.params import Params
from plumbline.contract.steps import show_steps
from plumbline.contract.task import Task
from plumbline.contract.variables import refuse_misspelt_variables
from plumbline.contract.yaml_file import load_yaml
from plumbline.process import leftovers, ranks
from plumbline.process.checkout_lock import lock_stage
from plumbline.process.dvc_lock import BEGAN, refuse_changed_params
from plumbline.process.locked_packages import require_locked_versions
from plumbline.process.stop_signals import (
    INTERRUPTED,
    TERMINATED,
    Terminated,
    raise_on_sigterm,
)
from plumbline.process.system_errors import explain_system_error
from plumbline.process.visible_text import escape_unencodable, show_lines
from plumbline.tracking.stage_runs import track_stage

STAGES_OF_A_CANDIDATE = ("train", "control")
AGAIN = "run the same command again to continue"
# How long an OpenMP thread spins before it sleeps. With the default, two trainings on two cores
# take 20 times as long as they should: threads that spin block others.
THREADS = {"GOMP_SPINCOUNT": "3000"}


def main(stage: str) -> int:
    """Run `stage` as params.yaml says and return the exit code."""
    parser = argparse.ArgumentParser(prog=stage, description=f"The {stage} stage.")
    has_candidate = stage in STAGES_OF_A_CANDIDATE
    if has_candidate:
        parser.add_argument("candidate", help="a key of `candidates` in params.yaml")
    arguments = parser.parse_args()
    raise_on_sigterm()
    escape_unencodable()
    for name, value in THREADS.items():
        os.environ.setdefault(name, value)
    try:
        with show_steps(stage) if ranks.is_main() else nullcontext():
            _run(stage, arguments.candidate if has_candidate else None)
    except BaseException as error:
        code, message = _explain_end(error)
        if code is None:
            raise
        if message:
            print(show_lines(f"{stage}: {message}"), file=sys.stderr)
        return code
    return 0


def _run(stage: str, candidate: str | None) -> None:
    """Check params and the candidate's name, then run the stage."""
    refuse_misspelt_variables()
    if ranks.is_main():
        require_locked_versions()
    values, params = load_yaml(layout.PARAMS), load_params(layout.PARAMS)
    task = load_task(params.task)
    if candidate is not None:
        params.require_candidate(candidate)
    with lock_stage(stage) if ranks.is_main() else nullcontext():
        if ranks.is_main():
            leftovers.remove_checkout_leftovers()  # of killed stages
        BEGAN.set((values, stage, candidate))
        run_tracked(stage, params, task, candidate)
        refuse_changed_params()  # MLflow may have taken long


def run_tracked(
    stage: str, params: Params, task: Task[Params], candidate: str | None = None
) -> None:
    """Call the function of `stage` in the current folder, as a run of MLflow."""
    module = importlib.import_module(f"plumbline.stages.{stage}")
    describe = getattr(module, "describe_run", lambda *_: None)
    known = (params, task) if candidate is None else (params, task, candidate)
    with track_stage(params, stage, candidate, lambda status: describe(status, *known)):
        run_stage(stage, params, task, candidate)
        refuse_changed_params()


def run_stage(stage: str, params: Params, task: Task[Params], candidate: str | None = None) -> None:
    """Call the function of `stage` in the current folder; train and control need a candidate."""
    function = getattr(importlib.import_module(f"plumbline.stages.{stage}"), stage)
    named = [] if candidate is None else [candidate]
    function(params, task.configure(params), *named)


def _explain_end(error: BaseException) -> tuple[int | None, str]:
    """Return the exit code for an error, and one line for the user; None for one of the code.

    What interrupts several processes is explained by the first.
    """
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, f"interrupted; {AGAIN}" if ranks.is_main() else ""
    if isinstance(error, Terminated):
        return TERMINATED, f"terminated; {AGAIN}" if ranks.is_main() else ""
    speaker = "" if ranks.is_main() else f"process {ranks.get_rank()} on {socket.gethostname()}: "
    if isinstance(error, PlumblineError):
        return error.exit_code, f"{speaker}{error}"
    message = explain_system_error(error)
    return (None, "") if message is None else (1, f"{speaker}{message}")


if __name__ == "__main__":
    sys.exit(main(sys.argv.pop(1)))
