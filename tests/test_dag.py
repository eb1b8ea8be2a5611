"""The graph says what is true: one verb one name, and all code that a stage runs is among its dependencies."""

from pathlib import Path

import grimp
import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
STAGES = ("ingest", "validate", "train", "control", "evaluate", "register")
TASKS = sorted(path.parent.name for path in ROOT.glob("src/plumbline/tasks/*/task.py"))
PIPELINE = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))


def stage(name: str) -> dict:
    found = PIPELINE["stages"][name]
    return found.get("do", found)


def dependencies(name: str, task: str) -> set[str]:
    return {dep.replace("${task}", task) for dep in stage(name)["deps"]}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("plumbline", cache_dir=None)


def test_one_verb_one_name() -> None:
    assert tuple(PIPELINE["stages"]) == STAGES
    assert sorted(p.stem for p in (ROOT / "pipelines").glob("*.py")) == sorted(STAGES)
    assert sorted(p.stem for p in (ROOT / "src/plumbline/stages").glob("[a-z]*.py")) == sorted(
        STAGES
    )
    for name in STAGES:
        assert f"pipelines/{name}.py" in stage(name)["cmd"]
        assert (ROOT / "tests/stages" / f"test_{name}.py").exists()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", STAGES)
def test_the_code_of_a_stage_is_among_its_dependencies(
    name: str, task: str, graph: grimp.ImportGraph
) -> None:
    listed = dependencies(name, task)
    code = {dep for dep in listed if dep.startswith(("src/", "pipelines/"))}
    assert not [dep for dep in code if not (ROOT / dep).exists()]
    door = f"plumbline.tasks.{task}.task"  # names every part of the task; a stage calls only those it depends on
    parts = {
        module
        for module in graph.modules
        if module.startswith(f"plumbline.tasks.{task}.") and _listed(module, code)
    }
    reached, waiting = set(), {f"plumbline.stages.{name}", "plumbline.entrypoint", door, *parts}
    while waiting:
        module = waiting.pop()
        reached.add(module)
        if module != door:
            waiting |= graph.find_modules_directly_imported_by(module) - reached
    missing = {
        _path(module) for module in reached if _has_code(module) and not _listed(module, code)
    }
    assert not missing, f"{name} runs code that is not among its dependencies in dvc.yaml"


def test_every_value_in_params_belongs_to_a_stage() -> None:
    listed = {str(key).split(".")[0] for name in STAGES for key in stage(name)["params"]}
    values = YAML(typ="safe").load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    assert set(values) - {"drift"} <= listed  # drift is looked for in what comes after all stages


def _path(module: str) -> str:
    base = "src/" + module.replace(".", "/")
    return f"{base}/__init__.py" if (ROOT / base).is_dir() else f"{base}.py"


def _has_code(module: str) -> bool:
    """Whether a module is more than a docstring."""
    return len(
        (ROOT / _path(module)).read_text(encoding="utf-8").strip().split('"""')
    ) > 3 or not _path(module).endswith("__init__.py")


def _listed(module: str, code: set[str]) -> bool:
    path = _path(module)
    return any(path == dep or path.startswith(f"{dep}/") for dep in code)
