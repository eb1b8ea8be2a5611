"""`plumbline recipe`: ready-made params.yaml files."""

from pathlib import Path
from typing import Annotated

import typer

from plumbline.cli.console import print_plain
from plumbline.contract import layout
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.lineage import run_git
from plumbline.contract.suggestion import suggest_nearest
from plumbline.entrypoint import load_params

RECIPES = Path("recipes")
LIST_EXAMPLE = "plumbline recipe list"
SHOW_EXAMPLE = "plumbline recipe show banking77"
USE_EXAMPLE = "plumbline recipe use banking77"

RecipeName = Annotated[str, typer.Argument(help="A name that `plumbline recipe list` prints.")]


def list_recipes() -> None:
    """List the recipes, with the first line of each."""
    for path in _find_recipes():
        first_line = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        print_plain(f"{path.stem:22} {first_line}")


def show_recipe(name: RecipeName) -> None:
    """Print a recipe."""
    print(_find_recipe(name).read_text(encoding="utf-8"), end="")


def use_recipe(
    name: RecipeName,
    force: Annotated[
        bool, typer.Option(help="Replace params.yaml even if it has uncommitted changes.")
    ] = False,
) -> None:
    """Replace params.yaml with a recipe, after checking it."""
    path = _find_recipe(name)
    load_params(path)
    if not force and _has_uncommitted_changes(layout.PARAMS):
        raise PlumblineError(
            f"{layout.PARAMS} has changes that are not committed; commit them, or add --force"
        )
    with layout.write_aside(layout.PARAMS) as aside:
        aside.write_bytes(path.read_bytes())
    print_plain(f"{layout.PARAMS} is now {path}; `dvc repro` runs it")


def _find_recipes() -> list[Path]:
    return sorted(RECIPES.glob("*.yaml"))


def _find_recipe(name: str) -> Path:
    names = [path.stem for path in _find_recipes()]
    if name not in names:
        hint = suggest_nearest(name, names) or f"; there are: {', '.join(names)}"
        raise ParamsError(f"there is no recipe {name!r}{hint}")
    return RECIPES / f"{name}.yaml"


def _has_uncommitted_changes(path: Path) -> bool:
    """Whether replacing `path` would lose something that neither git nor a recipe has."""
    changes = run_git("status", "--porcelain", str(path)).stdout.strip()
    if not changes or not path.exists():
        return False
    return path.read_bytes() not in [recipe.read_bytes() for recipe in _find_recipes()]
