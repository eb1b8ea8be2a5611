"""`plumbline doctor`: what is wrong here, and what to do next."""

from typing import Annotated

import typer

from plumbline.terminal.console import print_results
from plumbline.terminal.options import AsJson

EXAMPLE = "plumbline doctor --full"


def run_doctor(
    full: Annotated[
        bool,
        typer.Option("--full", help="Also read every byte of outputs, DVC's cache and versions."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check what a run needs, and that dvc.lock, DVC's cache, registry and journal agree.

    Repairs nothing, and prints a remedy for each fault. Exit code 0 if all is well, else 1.
    """
    from plumbline.diagnostics import doctor

    print_results(doctor.examine(full=full), as_json=as_json)
