"""`plumbline recipe`: ready-made params.yaml files, of this folder and of plumbline."""

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.suggestion import suggest_nearest
from plumbline.contract.yaml_file import load_yaml, open_editor
from plumbline.init.differences import replace_pages
from plumbline.init.repository_files import copy_task, ensure_task_folder, find_recipes
from plumbline.process.dvc_lock import PIPELINE
from plumbline.process.files import write_aside, write_json
from plumbline.process.lineage import run_git
from plumbline.terminal.console import print_plain

if TYPE_CHECKING:
    from plumbline.contract.params import Params

RECIPES = Path("recipes")
SCHEMA = Path("params.schema.json")
GENERATED = "generated"
# What belongs to the data of a user, and not to the models that a recipe is about.
OWN_SECTIONS = ("data", "validation", "evaluation", "registry")
EXAMPLE = "plumbline recipe banking77 --use"


def show_recipe(
    name: Annotated[
        str, typer.Argument(help="The recipe to print.", show_default="list the recipes")
    ] = "",
    use: Annotated[
        bool, typer.Option("--use", help="Replace params.yaml with the recipe, after checking it.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace params.yaml even if it has uncommitted changes."),
    ] = False,
) -> None:
    """List the recipes: ready-made params.yaml files, with the first line of each. Or print one."""
    recipes = _find_recipes()
    if not name:
        for title, path in recipes.items():
            first = _read_recipe(path).partition("\n")[0].lstrip("# ")
            print_plain(f"{title:26} {first}".rstrip())
        return
    if name not in recipes:
        hint = suggest_nearest(name, list(recipes)) or f"; there are: {', '.join(recipes)}"
        raise ParamsError(f"there is no recipe {name!r}{hint}")
    if use:
        _use_recipe(recipes[name], force=force)
    else:
        print(_read_recipe(recipes[name]), end="")


def _use_recipe(path: Path, *, force: bool) -> None:
    from plumbline.contract.params_file import read_params

    params = read_params(path, _load_params_class)
    text, kept = _keep_own_data(_read_recipe(path))
    said = f", with your {', '.join(kept)}" if kept else ""
    if not force and _has_uncommitted_changes(layout.PARAMS, text):
        raise PlumblineError(
            f"{layout.PARAMS} has changes that are not committed; commit them, or run "
            f"`plumbline recipe {path.stem} --use --force`"
        )
    with write_aside(layout.PARAMS) as aside:
        aside.write_text(text, encoding="utf-8")
        try:
            read_params(aside, _load_params_class)
        except ParamsError as error:  # the data do not fit the recipe
            raise ParamsError(str(error).replace(str(aside), f"recipe {path.stem}{said}")) from None
    if SCHEMA.exists():  # by which editors check and complete params.yaml
        write_json(SCHEMA, type(params).model_json_schema())
    ensure_task_folder(params.task)
    runs = "`dvc repro` runs it" if PIPELINE.exists() else "`plumbline init` makes what runs it"
    print_plain(f"{layout.PARAMS} is now the recipe {path.stem}{said}; {runs}")
    if run_git("ls-files", str(layout.PARAMS)).stdout.strip():
        print_plain(f"`git checkout {layout.PARAMS}` brings back the one that is committed")


def _keep_own_data(text: str) -> tuple[str, list[str]]:
    """Write what params.yaml says of data of one's own into a recipe for generated data.

    Returns the text, and the sections that were kept: none where the data are those of a recipe, or
    of another task.
    """
    yaml = open_editor()
    recipe = yaml.load(text)
    try:
        load_yaml(layout.PARAMS)  # refuses what may not be read
        own = yaml.load(layout.PARAMS)
        is_same_task, source = own["task"] == recipe["task"], own["data"]["source"]
    except (OSError, ParamsError, KeyError, TypeError):
        return text, []
    sources = [load_yaml(each)["data"].get("source") for each in find_recipes().values()]
    if recipe["data"].get("source") != GENERATED or not is_same_task or source in sources:
        return text, []
    kept = [section for section in OWN_SECTIONS if section in own]
    simple = recipe["evaluation"]["simple_candidate"]
    recipe.update({section: own[section] for section in kept})
    limits = recipe["evaluation"]
    known = (None, *recipe["candidates"])
    if isinstance(limits, dict) and limits.get("simple_candidate") not in known:
        limits["simple_candidate"] = simple
    stream = StringIO()
    yaml.dump(recipe, stream)
    return stream.getvalue(), kept


def _load_params_class(task: str) -> "type[Params]":
    from plumbline.contract.loading import load_params_class

    copy_task(task)
    return load_params_class(task)


def _find_recipes() -> dict[str, Path]:
    """Return recipes by name; one of this folder counts before plumbline's."""
    own = {path.stem: path for path in RECIPES.glob("*.yaml")}
    return dict(sorted((find_recipes() | own).items()))


def _has_uncommitted_changes(path: Path, new: str) -> bool:
    """Whether `new` in place of `path` loses something that neither git nor a recipe has."""
    if not path.exists() or not run_git("status", "--porcelain", str(path)).stdout.strip():
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    return text not in (new, *map(_read_recipe, _find_recipes().values()))


def _read_recipe(path: Path) -> str:
    """Return the text; one of plumbline's names pages as `plumbline docs` prints them."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return text if path.is_relative_to(RECIPES) else replace_pages(text)
