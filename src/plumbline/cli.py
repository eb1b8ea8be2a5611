"""The command line: what a person asks of the pipeline from the shell."""

import json
import logging
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from plumbline import layout
from plumbline.entrypoint import load_params, load_task
from plumbline.errors import ParamsError, PlumblineError
from plumbline.params import nearest

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
