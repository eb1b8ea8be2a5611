"""The files that a user's repository shares with this one, and how they differ."""

import tomllib
from pathlib import Path

from ruamel.yaml import YAML
from tests.support.checkouts import ROOT

from plumbline.init import differences, rendering, repository_files

CARRIED = [
    path for path in repository_files.list_carried(ROOT) if path not in rendering.NOT_WRITTEN
]
YAML_FILE = YAML(typ="safe")


def adapt(name: str) -> str:
    text = (ROOT / name).read_text(encoding="utf-8")
    return differences.adapt(Path(name), text, ROOT, "my-router")


def test_every_difference_is_in_a_file_that_is_carried() -> None:
    table = YAML_FILE.load(ROOT / differences.TABLE)
    written = {
        path.relative_to("template") if path.is_relative_to("template") else path
        for path in CARRIED
    }
    assert {Path(name) for name in table} <= written


def test_every_pattern_names_a_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for pattern in project["tool"]["plumbline"]["carried"]:
        assert any(ROOT.glob(pattern)), pattern


def test_stages_depend_on_the_lock_and_on_the_user_s_code() -> None:
    ours = YAML_FILE.load(ROOT / "dvc.yaml")
    theirs = YAML_FILE.load(adapt("dvc.yaml"))
    for name, stage in theirs["stages"].items():
        deps = stage.get("do", stage).pop("deps")
        before_stage = ours["stages"][name].get("do", ours["stages"][name])
        before = before_stage.pop("deps")
        assert {"requirements.lock", "src/tasks/${task}"} <= set(deps)
        assert deps == [dep for dep in before if not dep.startswith(("src/plumbline", "pipelines"))]
        here = f"-m plumbline.entrypoint {name}"
        command = before_stage.pop("cmd").replace(f"pipelines/{name}.py", here)
        assert stage.get("do", stage).pop("cmd") == command
    assert theirs == ours


def test_only_what_a_user_calls_is_left_of_the_makefile() -> None:
    text = adapt("Makefile")
    for word in ("setup:", "run:", "test:", "ui:", "-m plumbline.ci.kept_registry"):
        assert word in text
    for word in (
        "benchmarks",
        "tests.support",
        "mypy",
        "pyproject.toml",
        "editable",
        "RECIPE",
        "develop",
    ):
        assert word not in text


def test_no_file_names_what_a_user_does_not_have() -> None:
    for path in CARRIED:
        if path.suffix in (".yml", ".Dockerfile") or path.name in (".dockerignore", "dvc.yaml"):
            text = adapt(str(path))
            for absent in ("pyproject.toml", "src/plumbline", "pipelines/", "recipes/", "LICENSE"):
                assert absent not in text, f"{path}: {absent}"
