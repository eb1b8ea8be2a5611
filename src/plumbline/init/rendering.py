"""What `init` writes beside the data; equal answers to an equal plumbline give equal files.

`python -m plumbline.init.rendering FOLDER WHEEL`, with the answers as JSON on standard input: a
later plumbline runs the code in an older wheel this way, to learn what that version wrote. No
version may change that call.
"""

import json
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import chdir
from importlib.metadata import version
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.loading import load_params
from plumbline.init import differences, repository_files
from plumbline.init.answers import InitAnswers, write_record
from plumbline.init.proposal import Proposal, propose_params
from plumbline.process.files import digest_path, write_json

TEMPLATE = Path("template")
RECIPES = Path("recipes")
SCHEMA = Path("params.schema.json")
SCHEMA_LINE = f"# yaml-language-server: $schema={SCHEMA}"  # by which editors find it
LOCK = Path("requirements.lock")
WHEELS = Path("wheels")
NOT_WRITTEN = (Path(repository_files.PROJECT), differences.TABLE)  # template/ has another one
IN_WHEEL = ("docs", "recipes")  # folders that `plumbline docs` and `plumbline recipe` read there
# An example of an own task, where one is wanted; the files have this name in place of its own.
WITH_TASK = TEMPLATE / "with_task"
EXAMPLE_NAME = "own_task"
CASES_ROW = re.compile(r"\| `tests/behaviour\.csv` .*\n")  # of README.md
TASK_LINE = "\ntask: text_classification\n"


def render_repository(target: Path, answers: InitAnswers, wheel: Path) -> Proposal:
    """Write the files into `target`, with `wheel` as the plumbline that the repository installs."""
    root = repository_files.find_root()
    task = "retrieval" if answers.passage else "text_classification"
    unwanted = _list_unwanted(root, answers.parts)
    for path in repository_files.list_carried(root):
        if _is_written(path, task) and path not in unwanted:
            _write_file(target, path, root, answers.name)
    if answers.passage:  # it has no cases
        readme = target / "README.md"
        readme.write_text(CASES_ROW.sub("", readme.read_text(encoding="utf-8")), encoding="utf-8")
    write_json(target / layout.CHAMPION, {})
    own_wheel = WHEELS / wheel.name
    _lock_wheel(target, own_wheel, wheel.read_bytes())
    recipe = root / RECIPES / f"{task}.yaml"
    proposal = propose_params(recipe.read_text(encoding="utf-8"), answers)
    _write_params(target, differences.replace_pages(proposal.text), answers.task)
    if answers.task:
        _write_task(target, root, answers.task)
    write_record(target, version("plumbline"), own_wheel, answers)
    for cache in list(target.rglob("__pycache__")):  # of a task that was imported to read params
        shutil.rmtree(cache)
    return proposal


def _is_written(path: Path, task: str) -> bool:
    is_left_out = path in NOT_WRITTEN or path.parts[0] in IN_WHEEL
    if path.is_relative_to(repository_files.TASKS):  # others are copied when a recipe wants them
        return path.is_relative_to(repository_files.TASKS / task)
    if path.stem.endswith("behaviour") and task == "retrieval":  # cases of a text and its label
        return False
    return not is_left_out and not path.is_relative_to(WITH_TASK)


def _list_unwanted(root: Path, parts: Sequence[str]) -> set[Path]:
    """List the files of the parts that `plumbline upgrade --add` has not brought."""
    others = [part for part in repository_files.list_parts(root) if part not in parts]
    return {path for part in others for path in repository_files.list_carried(root, part)}


def _write_file(target: Path, path: Path, root: Path, name: str) -> None:
    own = path.relative_to(TEMPLATE) if path.is_relative_to(TEMPLATE) else path
    text = (root / path).read_text(encoding="utf-8")
    (target / own).parent.mkdir(parents=True, exist_ok=True)
    (target / own).write_text(differences.adapt(own, text, root, name), encoding="utf-8")
    if own.suffix == ".sh":
        mode = (target / own).stat().st_mode
        (target / own).chmod(mode | (mode & 0o444) >> 2)  # whoever may read it may run it


def _write_params(target: Path, text: str, task: str | None) -> None:
    path = target / layout.PARAMS
    path.write_text(f"{SCHEMA_LINE}\n{text}", encoding="utf-8")
    with chdir(target):  # which may have the code of the task
        params = load_params(layout.PARAMS)  # so that `make run` does not refuse it
    write_json(target / SCHEMA, type(params).model_json_schema())
    if task:  # an own task begins with the params of text classification
        path.write_text(text.replace(TASK_LINE, f"\ntask: {task}\n", 1), encoding="utf-8")
        (target / SCHEMA).unlink()


def _write_task(target: Path, root: Path, name: str) -> None:
    for path in repository_files.list_carried(root):
        if path.is_relative_to(WITH_TASK):
            own = target / str(path.relative_to(WITH_TASK)).replace(EXAMPLE_NAME, name)
            own.parent.mkdir(parents=True, exist_ok=True)
            text = (root / path).read_text(encoding="utf-8")
            own.write_text(text.replace(EXAMPLE_NAME, name), encoding="utf-8")


def _lock_wheel(target: Path, wheel: Path, content: bytes) -> None:
    (target / wheel).parent.mkdir(exist_ok=True)
    (target / wheel).write_bytes(content)
    lock = target / LOCK
    line = f"./{wheel} --hash=sha256:{digest_path(target / wheel)}\n"
    lock.write_text(line + lock.read_text(encoding="utf-8"), encoding="utf-8")


def main() -> None:
    """Render what the command line names."""
    target, wheel = map(Path, sys.argv[1:])
    render_repository(target, InitAnswers(**json.load(sys.stdin)), wheel)


if __name__ == "__main__":
    main()
