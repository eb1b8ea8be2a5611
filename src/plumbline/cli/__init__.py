"""A CI/CD pipeline in which every promotion of a model rests on evidence."""

import functools
import logging
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from plumbline.ci import github
from plumbline.cli import (
    adopt,
    champion,
    consult,
    docs,
    doctor,
    drift,
    drill,
    due,
    fsck,
    grade,
    init,
    journal,
    merge_lock,
    pin,
    predict,
    promote,
    recipe,
    registry,
    report,
    reproduce,
    rollback,
    run,
    score,
    selftest,
    serve,
    sign,
    submit,
    track,
    tune,
    upgrade,
    verdict,
)
from plumbline.contract.cut_bytecode import remove_cut_bytecode
from plumbline.contract.errors import PlumblineError
from plumbline.contract.leftovers import keep_system_temporaries
from plumbline.contract.quick_end import skip_last_collection
from plumbline.contract.system_errors import explain_system_error
from plumbline.contract.user_name import ensure_user_name
from plumbline.contract.variables import refuse_misspelt_variables
from plumbline.contract.visible_text import escape_unencodable, show_lines

START = (
    "To begin: make run, then plumbline report. If something is wrong: plumbline doctor. "
    "Pages: plumbline docs."
)
PANELS = {
    "Begin and run": ("init", "upgrade", "recipe", "pin", "tune", "run", "submit"),
    "Judge and decide": (
        "report", "verdict", "promote", "adopt", "rollback", "champion", "journal", "sign",
        "registry",
    ),
    "Ask a model": ("predict", "score", "serve", "consult", "grade"),
    "Watch": ("drift", "due", "track"),
    "Check and read": ("doctor", "fsck", "reproduce", "selftest", "drill", "docs"),
}  # fmt: skip
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}
app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help=__doc__,
    epilog=START,
)
recipes = typer.Typer(
    no_args_is_help=True, help="List, print and use ready-made params.yaml files."
)
registries = typer.Typer(no_args_is_help=True, help="Pack, unpack and fetch a local registry.")


def main() -> None:
    """Run a command; an error the user can act on is printed in one line, with its exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    # Warnings of libraries about their own code, which the user cannot fix.
    warnings.filterwarnings("ignore", module=r"mlflow|pydantic|google")
    ensure_user_name()
    escape_unencodable()
    try:
        refuse_misspelt_variables()
        app()
    except PlumblineError as error:
        print(show_lines(f"plumbline: {error}"), file=sys.stderr)
        github.annotate("error", "plumbline", str(error))
        sys.exit(error.exit_code)
    except Exception as error:
        message = explain_system_error(error) or remove_cut_bytecode(error)
        if message is None:
            raise
        print(show_lines(f"plumbline: {message}"), file=sys.stderr)
        github.annotate("error", "plumbline", message)
        sys.exit(1)
    finally:
        skip_last_collection()


def _add_command(
    group: typer.Typer,
    name: str,
    command: Callable[..., None],
    example: str,
    *,
    hidden: bool = False,
    opens_versions: bool = False,
) -> None:
    """Add `command`; one that opens versions copies them to the system's /tmp while it runs."""
    runner = _clean_up_after(command) if opens_versions else command
    panel = PANEL_OF.get(name) if group is app else None
    group.command(name, epilog=f"Example:\n\n{example}", hidden=hidden, rich_help_panel=panel)(
        runner
    )


def _clean_up_after(command: Callable[..., None]) -> Callable[..., None]:
    """What a kill leaves in the system's /tmp is removed by the next of these commands."""

    @functools.wraps(command)
    def run_command(*arguments: Any, **options: Any) -> None:
        with keep_system_temporaries():
            command(*arguments, **options)

    return run_command


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


_add_command(app, "init", init.init_repository, init.EXAMPLE)
_add_command(app, "upgrade", upgrade.upgrade, upgrade.EXAMPLE)
_add_command(app, "run", run.run_pipeline, run.EXAMPLE)
_add_command(app, "predict", predict.predict, predict.EXAMPLE, opens_versions=True)
_add_command(app, "score", score.score, score.EXAMPLE, opens_versions=True)
_add_command(app, "consult", consult.consult, consult.EXAMPLE, opens_versions=True)
_add_command(app, "grade", grade.grade, grade.EXAMPLE)
_add_command(app, "serve", serve.serve, serve.EXAMPLE, opens_versions=True)
_add_command(app, "report", report.show_report, report.EXAMPLE, opens_versions=True)
_add_command(app, "verdict", verdict.show_verdict, verdict.EXAMPLE)
_add_command(app, "promote", promote.promote, promote.EXAMPLE, opens_versions=True)
_add_command(app, "adopt", adopt.adopt, adopt.EXAMPLE, opens_versions=True)
_add_command(app, "rollback", rollback.roll_back, rollback.EXAMPLE, opens_versions=True)
_add_command(app, "champion", champion.show_champion, champion.EXAMPLE)
_add_command(app, "journal", journal.show_journal, journal.EXAMPLE)
_add_command(app, "sign", sign.sign_version, sign.EXAMPLE, opens_versions=True)
_add_command(app, "drift", drift.check_drift, drift.EXAMPLE, opens_versions=True)
_add_command(app, "due", due.check_due, due.EXAMPLE)
_add_command(app, "submit", submit.submit, submit.EXAMPLE)
_add_command(app, "pin", pin.pin_weights, pin.EXAMPLE)
_add_command(app, "tune", tune.tune, tune.EXAMPLE)
_add_command(app, "reproduce", reproduce.reproduce_version, reproduce.EXAMPLE, opens_versions=True)
_add_command(app, "track", track.track, track.EXAMPLE)
_add_command(app, "doctor", doctor.run_doctor, doctor.EXAMPLE)
_add_command(app, "fsck", fsck.run_fsck, fsck.EXAMPLE, opens_versions=True)
_add_command(app, "selftest", selftest.run_selftest, selftest.EXAMPLE, opens_versions=True)
_add_command(app, "drill", drill.run_drill, drill.EXAMPLE)
_add_command(app, "docs", docs.show_page, docs.EXAMPLE)
_add_command(app, "merge-lock", merge_lock.merge_lock, merge_lock.EXAMPLE, hidden=True)
_add_command(recipes, "list", recipe.list_recipes, recipe.LIST_EXAMPLE)
_add_command(recipes, "show", recipe.show_recipe, recipe.SHOW_EXAMPLE)
_add_command(recipes, "use", recipe.use_recipe, recipe.USE_EXAMPLE)
_add_command(recipes, "schema", recipe.show_schema, recipe.SCHEMA_EXAMPLE)
_add_command(registries, "pack", registry.pack_registry, registry.PACK_EXAMPLE, opens_versions=True)
_add_command(
    registries, "unpack", registry.unpack_registry, registry.UNPACK_EXAMPLE, opens_versions=True
)
_add_command(
    registries, "fetch", registry.fetch_registry, registry.FETCH_EXAMPLE, opens_versions=True
)
app.add_typer(recipes, name="recipe", rich_help_panel=PANEL_OF["recipe"])
app.add_typer(registries, name="registry", rich_help_panel=PANEL_OF["registry"])
