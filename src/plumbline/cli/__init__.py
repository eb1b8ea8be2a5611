"""A CI/CD pipeline in which every promotion of a model rests on evidence."""

import logging
import os
import sys
import warnings
from typing import Annotated

import typer

from plumbline.ci.forge import find_forge
from plumbline.cli import (
    decisions,
    docs,
    doctor,
    drift,
    init,
    pin,
    predict,
    recipe,
    registry,
    report,
    reproduce,
    run,
    score,
    serve,
    sign,
    tune,
    upgrade,
)
from plumbline.contract.errors import PlumblineError
from plumbline.contract.extensions import load_extensions
from plumbline.contract.variables import refuse_misspelt_variables
from plumbline.process.system_errors import explain_system_error
from plumbline.process.visible_text import escape_unencodable, show_lines
from plumbline.terminal.commands import PANEL_OF, add_command

START = (
    "To begin: make run, then plumbline report. If something is wrong: plumbline doctor. "
    "Pages: plumbline docs."
)
app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help=__doc__,
    epilog=START,
)
registries = typer.Typer(no_args_is_help=True, help="Pack and unpack a local registry.")


def main() -> None:
    """Run a command; an error the user can act on is printed in one line, with its exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    # Warnings of libraries about their own code, which the user cannot fix.
    warnings.filterwarnings("ignore", module=r"mlflow|pydantic|google")
    escape_unencodable()
    try:
        refuse_misspelt_variables()
        app()
    except Exception as error:
        own = error if isinstance(error, PlumblineError) else None
        message = str(own) if own else explain_system_error(error)
        if message is None:
            raise
        print(show_lines(f"plumbline: {message}"), file=sys.stderr)
        find_forge().annotate("error", "plumbline", message)
        sys.exit(own.exit_code if own else 1)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"plumbline {version('plumbline')}")
        raise typer.Exit


@app.callback()
def read_options(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_show_version, is_eager=True
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print errors only; the exit code answers.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show what libraries and plumbline log, too.")
    ] = False,
) -> None:
    """A CI/CD pipeline in which every promotion of a model rests on evidence."""
    if quiet:  # what a command starts is quiet as well
        sys.stdout.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if quiet or verbose:
        logging.getLogger().setLevel(logging.ERROR if quiet else logging.INFO)


add_command(app, "init", init.init_repository, init.EXAMPLE)
add_command(app, "upgrade", upgrade.upgrade, upgrade.EXAMPLE)
add_command(app, "recipe", recipe.show_recipe, recipe.EXAMPLE)
add_command(app, "run", run.run_pipeline, run.EXAMPLE)
add_command(app, "predict", predict.predict, predict.EXAMPLE)
add_command(app, "score", score.score, score.EXAMPLE)
add_command(app, "serve", serve.serve, serve.EXAMPLE)
add_command(app, "report", report.show_report, report.EXAMPLE)
add_command(app, "promote", decisions.promote, decisions.PROMOTE_EXAMPLE)
add_command(app, "rollback", decisions.roll_back, decisions.ROLLBACK_EXAMPLE)
add_command(app, "champion", decisions.show_champion, decisions.CHAMPION_EXAMPLE)
add_command(app, "journal", decisions.show_journal, decisions.JOURNAL_EXAMPLE)
add_command(app, "sign", sign.sign_version, sign.EXAMPLE)
add_command(app, "drift", drift.check_drift, drift.EXAMPLE)
add_command(app, "pin", pin.pin_weights, pin.EXAMPLE)
add_command(app, "tune", tune.tune, tune.EXAMPLE)
add_command(app, "reproduce", reproduce.reproduce_version, reproduce.EXAMPLE)
add_command(app, "doctor", doctor.run_doctor, doctor.EXAMPLE)
add_command(app, "docs", docs.show_page, docs.EXAMPLE)
add_command(registries, "pack", registry.pack_registry, registry.PACK_EXAMPLE)
add_command(registries, "unpack", registry.unpack_registry, registry.UNPACK_EXAMPLE)
app.add_typer(registries, name="registry", rich_help_panel=PANEL_OF["registry"])
for commands in load_extensions("plumbline.commands"):
    app.add_typer(commands)
