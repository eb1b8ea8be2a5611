"""The files that a user's repository shares with this one, and how they differ."""

import tomllib
from pathlib import Path

import pytest
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


def test_the_template_repeats_no_file_of_this_repository() -> None:
    """One truth: what both have comes from here, but for a few files that say other things."""
    folder = ROOT / "template"
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    names = {path.relative_to(folder) for path in files}
    repeated = {name for name in names if (ROOT / name).exists()}
    expected = {"README.md", ".github/workflows/ci.yml", "pyproject.toml"}
    assert {str(name) for name in repeated} == expected


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


def test_a_difference_that_fits_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "template").mkdir()
    (tmp_path / differences.TABLE).write_text("a.txt:\n  - [old, new]\n")
    assert differences.adapt(Path("a.txt"), "old", tmp_path, "x") == "new"
    with pytest.raises(ValueError, match=r"a\.txt: 2 times in the file: 'old'"):
        differences.adapt(Path("a.txt"), "old old", tmp_path, "x")
