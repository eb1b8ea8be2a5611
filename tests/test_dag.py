"""The graph is true: one stage, one name; a stage depends on just the code that it runs."""

import ast
import re
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import grimp
import pytest
from ruamel.yaml import YAML

from plumbline.contract.loading import load_params
from plumbline.contract.task import Task
from plumbline.evidence.document import describe_params

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/plumbline"
STAGES = ("identify", "ingest", "validate", "train", "control", "evaluate", "register")
# One is in the package; the others are where a user's own task is, whose folder each stage names.
BUILT_IN = "text_classification"
TEXTS = f"src/plumbline/tasks/{BUILT_IN}"
TASKS = [BUILT_IN, *sorted(path.parent.name for path in ROOT.glob("src/tasks/*/task.py"))]
# DVC cannot tell which of them is installed.
TORCH_LOCKS = {"requirements-cpu.lock", "requirements-cuda.lock"}
# A stage calls `task.data` and so on: the sub-packages of a task, each imported when it is called.
PARTS = {name for name, value in vars(Task).items() if isinstance(value, property)}
PIPELINE = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))


def get_stage(name: str) -> dict:
    stage: dict = PIPELINE["stages"][name]
    return stage.get("do", stage)


def list_code(name: str, task: str) -> set[str]:
    """List the dependencies of a stage that are code."""
    deps = {dep.replace("${task}", task) for dep in get_stage(name)["deps"]}
    return {dep for dep in deps if dep.startswith(("src/", "pipelines/"))}


def find_package(task: str) -> str:
    return f"plumbline.tasks.{task}" if task == BUILT_IN else f"tasks.{task}"


@cache
def read_imports() -> dict[str, set[str]]:
    """Read who imports whom, in functions as well; imports for the type checker alone are none."""
    packages = ["plumbline", *(find_package(task) for task in TASKS if task != BUILT_IN)]
    graph = grimp.build_graph(*packages, cache_dir=None, exclude_type_checking_imports=True)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_one_verb_one_name() -> None:
    assert tuple(PIPELINE["stages"]) == STAGES
    assert sorted(p.stem for p in (ROOT / "pipelines").glob("*.py")) == sorted(STAGES)
    stages = sorted(path.stem for path in (PACKAGE / "stages").glob("[a-z]*.py"))
    assert stages == sorted(STAGES)
    for name in STAGES:
        assert f"pipelines/{name}.py" in get_stage(name)["cmd"]
        assert (ROOT / "tests/stages" / f"test_{name}.py").exists()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", STAGES)
def test_the_code_of_a_stage_is_among_its_dependencies(name: str, task: str) -> None:
    assert not [dep for dep in list_code(name, task) if not (ROOT / dep).exists()]
    listed = list_code(name, task)
    needed = _list_needed(name, task)
    missing = {path for path in needed if not any(_is_in(path, dep) for dep in listed)}
    assert not missing, f"{name} runs code that is not among its dependencies in dvc.yaml"


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_depends_on_no_code_that_it_does_not_run(name: str) -> None:
    code = [dep for dep in get_stage(name)["deps"] if dep.startswith(("src/", "pipelines/"))]
    superfluous = [
        dep
        for dep in code
        if not any(_is_used(name, task, dep.replace("${task}", task)) for task in TASKS)
    ]
    assert not superfluous, f"{name} does not run it: it is no dependency in dvc.yaml"


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_that_runs_all_parts_of_tasks_names_their_folder(name: str) -> None:
    named = [dep for dep in get_stage(name)["deps"] if dep.startswith(TEXTS)]
    used = {part for part in PARTS if _is_used(name, BUILT_IN, f"{TEXTS}/{part}")}
    assert (named == [TEXTS]) == (used == PARTS)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", STAGES)
def test_an_upgrade_of_its_packages_runs_a_stage_again(name: str, task: str) -> None:
    locks = {dep for dep in get_stage(name)["deps"] if dep.endswith(".lock")}
    assert locks >= list_locks(name, task)
    assert all((ROOT / lock).is_file() for lock in locks)


@pytest.mark.parametrize("name", STAGES)
def test_an_upgrade_of_torch_runs_only_what_uses_torch(name: str) -> None:
    locks = {dep for dep in get_stage(name)["deps"] if dep.endswith(".lock")}
    assert locks == set.union(*(list_locks(name, task) for task in TASKS))


@pytest.mark.parametrize(("workflow", "event"), [("retrain", "push"), ("report", "pull_request")])
def test_a_workflow_watches_what_the_stages_depend_on(workflow: str, event: str) -> None:
    text = (ROOT / f".github/workflows/{workflow}.yml").read_text(encoding="utf-8")
    patterns = YAML(typ="safe").load(text)["on"][event]["paths"]
    deps = {dep for name in STAGES for dep in get_stage(name)["deps"]}
    watched = {dep for dep in deps if any(fnmatch(dep, pattern) for pattern in patterns)}
    left_out = {dep for dep in deps - watched if not dep.startswith(("models", "reports/", "${"))}
    # `promote` writes champion.json: a promotion does not train.
    assert left_out == {"champion.json"}


def test_every_value_in_params_belongs_to_a_stage() -> None:
    listed = {str(key).split(".")[0] for name in STAGES for key in get_stage(name)["params"]}
    values = YAML(typ="safe").load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    assert set(values) - {"drift"} <= listed  # drift is looked for in what comes after all stages


def test_evaluate_runs_again_for_whatever_evidence_says_of_params() -> None:
    """`register` compares it with params.yaml, and would ask for what DVC takes as up to date."""
    described = describe_params(load_params(ROOT / "params.yaml"))
    assert set(described) <= set(get_stage("evaluate")["params"])


def list_locks(name: str, task: str) -> set[str]:
    """List the locks of the packages that a stage can import."""
    texts = [_read_module(module) for module in reach(name, task)]
    uses_torch = any(re.search(r"^\s*(import|from) torch\b", text, re.M) for text in texts)
    return {"requirements.lock"} | (TORCH_LOCKS if uses_torch else set())


def _is_used(name: str, task: str, dep: str) -> bool:
    files = set(_list_needed(name, task))
    if any("predictor" in _list_attributes(module) for module in reach(name, task)):
        # copied into a bundle, by code that other stages share
        files.add(f"src/{find_package(task).replace('.', '/')}/predictor.py")
    return any(_is_in(file, dep) for file in files)


@cache
def _list_needed(name: str, task: str) -> set[str]:
    """List the files that a stage runs or reads."""
    modules = reach(name, task)
    needed = {_get_path(module) for module in modules if _has_code(module)}
    return needed | _list_data_files(modules) | {f"pipelines/{name}.py"}


@cache
def reach(name: str, task: str) -> set[str]:
    """Return the modules that a stage can import: along the graph, and the parts that it calls."""
    package = find_package(task)
    waiting = {f"plumbline.stages.{name}", "plumbline.entrypoint"}
    waiting |= {f"{package}.task", f"{package}.params"}  # which the entrypoint imports by name
    imports = read_imports()
    reached: set[str] = set()
    while waiting:
        module = waiting.pop()
        reached.add(module)
        parents = module.split(".")[:-1]
        next_modules = {".".join(parents[: n + 1]) for n in range(len(parents))} | imports[module]
        if not module.startswith(package):
            next_modules |= {f"{package}.{part}" for part in _list_attributes(module) & PARTS}
        waiting |= (next_modules & imports.keys()) - reached
    return reached


@cache
def _list_attributes(module: str) -> set[str]:
    """List the attributes of a task that a module reads: `task.data`, `site.task.models`."""
    names = set()
    for node in ast.walk(ast.parse(_read_module(module))):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).split(".")[-1] == "task":
            names.add(node.attr)
    return names


def _list_data_files(modules: Iterable[str]) -> set[str]:
    """List the data files beside modules, or in a folder beside them, that these modules name."""
    named = set()
    for module in modules:
        text = _read_module(module)
        for path in _list_files_beside(module):
            folder = path.parent.name
            if path.name in text or (folder == "templates" and f'"{folder}"' in text):
                named.add(path.relative_to(ROOT).as_posix())
    return named


@cache
def _list_files_beside(module: str) -> list[Path]:
    folder = (ROOT / _get_path(module)).parent
    below = [path for path in folder.iterdir() if path.is_dir() and not any(path.glob("*.py"))]
    files = []
    for place in (folder, *below):
        if place.name != "__pycache__":
            files += [path for path in place.iterdir() if path.suffix not in ("", ".py", ".typed")]
    return files


def _get_path(module: str) -> str:
    base = "src/" + module.replace(".", "/")
    return f"{base}/__init__.py" if (ROOT / base).is_dir() else f"{base}.py"


@cache
def _read_module(module: str) -> str:
    return (ROOT / _get_path(module)).read_text(encoding="utf-8")


def _has_code(module: str) -> bool:
    """Whether a module is more than a docstring; no stage calls what starts the command line."""
    if module == "plumbline":
        return False
    return len(ast.parse(_read_module(module)).body) > 1 or not _get_path(module).endswith(
        "__init__.py"
    )


def _is_in(path: str, dep: str) -> bool:
    return path == dep or path.startswith(f"{dep}/")
