"""Ready-made params.yaml files."""

from pathlib import Path
from typing import Annotated

import typer

from plumbline.cli.console import out
from plumbline.contract import layout
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.params import nearest
from plumbline.entrypoint import load_params

RECIPES = Path("recipes")

app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command("list")
def list_recipes() -> None:
    """The recipes, with the first line of each."""
    for path in _recipes():
        first = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        out.print(f"{path.stem:22} {first}", markup=False)


@app.command("show")
def show_recipe(name: str) -> None:
    """Print a recipe."""
    print(_recipe(name).read_text(encoding="utf-8"), end="")


@app.command("use")
def use_recipe(
    name: str, force: Annotated[bool, typer.Option(help="Replace uncommitted changes.")] = False
) -> None:
    """Make a recipe the active params.yaml, once it was checked."""
    path = _recipe(name)
    load_params(path)
    if not force and _uncommitted(layout.PARAMS):
        raise PlumblineError(
            f"{layout.PARAMS} has changes that are not committed; commit them, or add --force"
        )
    with layout.written(layout.PARAMS) as aside:
        aside.write_bytes(path.read_bytes())
    out.print(f"{layout.PARAMS} is now {path}; `dvc repro` runs it")


def _recipes() -> list[Path]:
    return sorted(RECIPES.glob("*.yaml"))


def _recipe(name: str) -> Path:
    names = [path.stem for path in _recipes()]
    if name not in names:
        raise ParamsError(
            f"there is no recipe {name!r}{nearest(name, names) or '; there are: ' + ', '.join(names)}"
        )
    return RECIPES / f"{name}.yaml"


def _uncommitted(path: Path) -> bool:
    """Whether git would lose something if `path` were replaced, and no recipe has it."""
    import subprocess

    changed = subprocess.run(
        ["git", "status", "--porcelain", str(path)], capture_output=True, text=True, check=False
    )
    known = [recipe.read_bytes() for recipe in _recipes()]
    return bool(changed.stdout.strip()) and path.exists() and path.read_bytes() not in known
