"""`plumbline run`: the pipeline, by `dvc repro`, with what DVC does not check or say."""

import sys
from typing import Annotated

import typer

from plumbline.ci.forge import find_forge
from plumbline.terminal.console import print_lines

EXAMPLE = "plumbline run --pull"


def run_pipeline(
    stages: Annotated[
        list[str] | None, typer.Argument(help="Stages of dvc.yaml.", show_default="all stages")
    ] = None,
    pull: Annotated[
        bool, typer.Option("--pull", help="Fetch from the DVC remote what was computed before.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Run the stages even if nothing changed.")
    ] = False,
    single_item: Annotated[
        bool, typer.Option("--single-item", help="Run only these stages, not those before them.")
    ] = False,
    submit: Annotated[
        bool,
        typer.Option(
            "--submit",
            help="Hand the training of this commit to another scheduler by the command in "
            "$PLUMBLINE_SUBMIT, and do not wait for its end; see `plumbline docs github`.",
        ),
    ] = False,
) -> None:
    """Bring the outputs of the pipeline up to date; `make run` calls this.

    Checks params.yaml, dvc.yaml and dvc.lock first, locks the checkout during the run, and verifies
    what DVC restored. Exits with the code of the stage that failed.
    """
    if submit:
        _submit()
        return
    from plumbline import pipeline_run
    from plumbline.contract import layout
    from plumbline.contract.loading import load_params
    from plumbline.init.repository_files import ensure_task_folder
    from plumbline.pipeline_run.reproduction import RunRequest

    ensure_task_folder(load_params(layout.PARAMS).task)
    code = pipeline_run.run(RunRequest(tuple(stages or ()), pull, force, single_item))
    if code:
        sys.exit(code)


def _submit() -> None:
    from plumbline.ci import submission

    commit, output = submission.submit_training()
    message = f"submitted: the training of commit {commit[:12]}"
    print_lines(f"{output}\n{message}" if output else message)
    find_forge().annotate("notice", "submitted", output or message)
