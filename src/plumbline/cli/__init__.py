"""The command line: what a person asks of the pipeline from the shell."""

import logging
import sys
import warnings
from pathlib import Path

import typer

from plumbline.ci import github
from plumbline.cli import decisions, inference, inspection, recipes, registry, selfcheck
from plumbline.cli.drift import drift
from plumbline.cli.serve import serve
from plumbline.contract.errors import PlumblineError

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False, help=__doc__
)
app.command()(serve)
app.command()(drift)
for commands in (inference, inspection, selfcheck, decisions):
    app.add_typer(commands.app)
app.add_typer(recipes.app, name="recipe")
app.add_typer(registry.app, name="registry")


def main() -> None:
    """Run the command; a fault the user can act on is told in one line, with its exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    warnings.filterwarnings(
        "ignore", module=r"mlflow|pydantic|google"
    )  # theirs to mend, noise to the user
    try:
        app()
    except PlumblineError as error:
        print(f"plumbline: {error}", file=sys.stderr)
        github.annotate("error", "plumbline", str(error))
        sys.exit(error.exit_code)


@app.command("merge-lock", hidden=True)
def merge_lock(base: Path, ours: Path, theirs: Path) -> None:
    """Merge three versions of dvc.lock into OURS: git calls it (.gitattributes)."""
    from plumbline.ci import lockfile

    if again := lockfile.merge(base, ours, theirs):
        print(
            f"dvc.lock: changed on both sides, so `dvc repro` looks at them anew: {', '.join(again)}",
            file=sys.stderr,
        )
