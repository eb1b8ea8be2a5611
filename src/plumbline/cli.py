"""The command line: what a person asks of the pipeline from the shell."""

import json
import logging
import os
import shlex
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from plumbline import layout
from plumbline.entrypoint import load_params, load_task
from plumbline.errors import ParamsError, PlumblineError
from plumbline.params import nearest

if TYPE_CHECKING:
    from plumbline.journal import Entry

RECIPES = Path("recipes")

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False, help=(__doc__))
recipe = typer.Typer(no_args_is_help=True, help="Ready-made params.yaml files.")
app.add_typer(recipe, name="recipe")
out = Console(highlight=False, soft_wrap=True)


def main() -> None:
    """Run the command; a fault the user can act on is told in one line, with its exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    warnings.filterwarnings("ignore", module=r"mlflow|pydantic|google")  # theirs to mend, noise to the user
    try:
        app()
    except PlumblineError as error:
        print(f"plumbline: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


@app.command()
def doctor() -> None:
    """Look at what a run needs (packages, params, DVC, registry, disk, device) and say what to do about faults."""
    from plumbline import doctor

    findings = doctor.examine()
    for finding in findings:
        mark = "[green]ok[/]  " if finding.ok else "[red]FAIL[/]"
        out.print(f"{mark} {finding.what}: ", end="")
        out.print(finding.found, markup=False)
        if finding.remedy:
            out.print(f"       -> {finding.remedy}", markup=False)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


@app.command()
def predict(
    values: Annotated[list[str], typer.Argument(help="What to ask: one value for each row, or '-' to read lines.")],
    model: Annotated[
        str, typer.Option(help="models:/NAME@ALIAS or models:/NAME/VERSION; the champion if left out.")
    ] = "",
    set_: Annotated[list[str], typer.Option("--param", "-p", help="An inference parameter, such as top_k=5.")] = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Ask a registered model. Its files are checked against the registry before any of its code runs."""
    from plumbline import packaging

    params = load_params(layout.PARAMS)
    task = load_task(params.task)
    rows = [line.rstrip("\n") for line in sys.stdin] if values == ["-"] else values
    column = task.signature.inputs[0]
    asked = rows if column.type == "string" else [json.loads(row) for row in rows]
    chosen = _inference_params(set_, {param.name: param.default for param in task.signature.params})
    predictor, version = packaging.load(model or f"models:/{params.registry.model}@champion")
    try:
        answers = predictor.predict({column.name: asked}, **chosen)
    except ValueError as error:
        raise PlumblineError(str(error)) from None
    records = [dict(zip(answers, row, strict=True)) for row in zip(*answers.values(), strict=True)]
    if as_json:
        for record in records:
            print(json.dumps(record, ensure_ascii=False))
        return
    table = Table(column.name, *answers, title=f"{version.name} version {version.version}", title_justify="left")
    for row, record in zip(rows, records, strict=True):
        table.add_row(row, *(_cell(value) for value in record.values()))
    out.print(table, markup=False)


@app.command()
def report() -> None:
    """Show the last evaluation: leaderboard, verdict, and where the whole report and the MLflow UI are."""
    from plumbline import report

    report.show(out)
    done = layout.read_json(layout.REGISTRATION) if layout.REGISTRATION.exists() else {}
    if done.get("version") and done["evidence"] == layout.digest(layout.EVIDENCE):
        task = load_task(load_params(layout.PARAMS).task)
        asked = next(iter(task.example.values()))[0]
        out.print(f"registered:      {done['model']} version {done['version']}; runs and registry: make ui")
        question = shlex.quote(asked if isinstance(asked, str) else json.dumps(asked))
        out.print(f"ask it:          {os.path.relpath(sys.argv[0])} predict {question}", markup=False)


@app.command()
def promote(
    name: str,
    version: str,
    expect: Annotated[str, typer.Option(help="The champion you looked at: a version, or none.")],
    reason: Annotated[str, typer.Option(help="Why; it stands in the journal.")] = "",
) -> None:
    """Make VERSION the champion of NAME, if the champion still is the expected one."""
    from plumbline import promotion

    _decided(promotion.promote(name, version, expect, reason))


@app.command()
def rollback(
    name: str,
    to: Annotated[str | None, typer.Option(help="A version that was champion; the one before if left out.")] = None,
    reason: Annotated[str, typer.Option(help="Why; it stands in the journal.")] = "",
) -> None:
    """Bring back the champion before this one."""
    from plumbline import promotion

    _decided(promotion.rollback(name, to, reason))


@app.command("journal")
def show_journal(name: str, as_json: Annotated[bool, typer.Option("--json", help="One entry a line.")] = False) -> None:
    """Every decision on NAME, oldest first, once the chain was checked."""
    from plumbline import promotion

    entries = promotion.history(name)
    if as_json:
        for entry in entries:
            print(json.dumps(asdict(entry)))
        return
    table = Table("#", "at (UTC)", "who", "decision", "bundle", "evidence", "reason")
    for entry in entries:
        change = f"{entry.action} {entry.previous} -> {entry.version}" if entry.version else entry.action
        at = entry.at.removesuffix("+00:00").replace("T", " ")
        table.add_row(str(entry.number), at, entry.actor, change, entry.bundle[:12], entry.evidence[:12], entry.reason)
    out.print(table, markup=False)


@app.command("champion")
def show_champion(
    name: str, as_of: Annotated[str | None, typer.Option(help="A day or moment, ISO 8601, UTC.")] = None
) -> None:
    """Who is champion of NAME, or was, and by which decision."""
    from plumbline import promotion

    entry = promotion.champion(name, as_of)
    if entry is None:
        raise PlumblineError(f"{name}: no champion{' by ' + as_of if as_of else ''}")
    out.print(f"{name} version {entry.version}, by {entry.actor} at {entry.at} ({entry.action}; entry {entry.number})")


@recipe.command("list")
def list_recipes() -> None:
    """The recipes, with the first line of each."""
    for path in _recipes():
        first = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        out.print(f"{path.stem:22} {first}", markup=False)


@recipe.command("show")
def show_recipe(name: str) -> None:
    """Print a recipe."""
    print(_recipe(name).read_text(encoding="utf-8"), end="")


@recipe.command("use")
def use_recipe(name: str, force: Annotated[bool, typer.Option(help="Replace uncommitted changes.")] = False) -> None:
    """Make a recipe the active params.yaml, once it was checked."""
    path = _recipe(name)
    load_params(path)
    if not force and _uncommitted(layout.PARAMS):
        raise PlumblineError(f"{layout.PARAMS} has changes that are not committed; commit them, or add --force")
    with layout.written(layout.PARAMS) as aside:
        aside.write_bytes(path.read_bytes())
    out.print(f"{layout.PARAMS} is now {path}. Next: dvc repro")


def _decided(entry: "Entry") -> None:
    out.print(
        f"{entry.model}: the champion is version {entry.version}, it was {entry.previous}; journal entry {entry.number}"
    )


def _recipes() -> list[Path]:
    return sorted(RECIPES.glob("*.yaml"))


def _recipe(name: str) -> Path:
    names = [path.stem for path in _recipes()]
    if name not in names:
        raise ParamsError(f"there is no recipe {name!r}{nearest(name, names) or '; there are: ' + ', '.join(names)}")
    return RECIPES / f"{name}.yaml"


def _uncommitted(path: Path) -> bool:
    """Whether git would lose something if `path` were replaced, and no recipe has it."""
    import subprocess

    changed = subprocess.run(["git", "status", "--porcelain", str(path)], capture_output=True, text=True, check=False)
    known = [recipe.read_bytes() for recipe in _recipes()]
    return bool(changed.stdout.strip()) and path.exists() and path.read_bytes() not in known


def _inference_params(given: list[str], known: dict[str, Any]) -> dict[str, Any]:
    """name=value pairs, each value read as the type of that parameter's default."""
    chosen: dict[str, Any] = {}
    for pair in given:
        name, _, value = pair.partition("=")
        if name not in known:
            raise ParamsError(f"--param {name}: unknown{nearest(name, list(known)) or '; known: ' + ', '.join(known)}")
        try:
            chosen[name] = type(known[name])(value)
        except ValueError:
            raise ParamsError(f"--param {name}: expected a {type(known[name]).__name__}, found {value!r}") from None
    return chosen


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return ", ".join(" ".join(_cell(part) for part in item.values()) for item in value)
    return str(value)
