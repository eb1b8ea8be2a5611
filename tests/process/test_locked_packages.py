"""Packages of other versions than the locks say, and files that DVC cannot read, are named."""

from importlib.metadata import version
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT

from plumbline.contract.errors import ParamsError
from plumbline.process.dvc_lock import check_files
from plumbline.process.locked_packages import LOCKS, require_locked_versions

pytestmark = pytest.mark.usefixtures("folder")


def write_lock(text: str) -> None:
    Path("requirements.lock").write_text(text, encoding="utf-8")


def test_the_environment_of_the_tests_is_as_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert all(path.exists() for path in LOCKS)
    require_locked_versions()


def test_a_package_that_the_lock_has_for_this_python_only_is_compared() -> None:
    other = "numpy==0.2 ; python_full_version < '3.11' \\\n    --hash=sha256:cd\n"
    write_lock(f"{other}numpy==0.1 ; python_full_version >= '3.11' \\\n    --hash=sha256:ab\n")
    with pytest.raises(
        ParamsError, match=rf"1 installed .* numpy {version('numpy')} \(lock: 0.1\)"
    ):
        require_locked_versions()


@pytest.mark.parametrize("lock", ["requirements-cpu.lock", "requirements-cuda.lock"])
def test_torch_is_compared_whichever_build_is_locked(lock: str) -> None:
    installed = version("torch").partition("+")[0]
    text = f"torch=={installed}+other ; python_version > '3' \\\n    --hash=sha256:ab\n"
    Path(lock).write_text(text, encoding="utf-8")
    require_locked_versions()
    Path(lock).write_text(text.replace(installed, "1.0"), encoding="utf-8")
    with pytest.raises(ParamsError, match=rf"torch {installed} \(lock: 1.0\)"):
        require_locked_versions()


def test_a_build_for_another_device_may_have_its_own_version() -> None:
    write_lock("numpy==0.1 \\\n    --hash=sha256:ab\n")
    other = f"numpy=={version('numpy')} \\\n    --hash=sha256:ab\nnvidia==1 \\\n"
    Path("requirements-cuda.lock").write_text(other, encoding="utf-8")
    require_locked_versions()


def test_a_lock_that_was_edited_is_named() -> None:
    write_lock("no-such-package==1 \\\n")
    require_locked_versions()  # what is not installed is not asked for
    write_lock("numpy==0.1 ; python < '3' \\\n")
    with pytest.raises(
        ParamsError, match=r"requirements.lock: not a valid requirement: numpy==0.1"
    ):
        require_locked_versions()


PIPELINE = "stages:\n  evaluate:\n    cmd: echo\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("dvc.lock", "", r"dvc\.lock: empty; `git checkout dvc\.lock` restores it"),
        (
            "dvc.lock",
            "stages:\n  a:\n    cmd: x\n  evalua",
            r"dvc\.lock: .*`git checkout dvc\.lock` restores it",
        ),
        ("dvc.lock", "<<<<<<< HEAD\n", r"dvc\.lock:1: a merge left its markers here"),
        ("dvc.yaml", "=======\n>>>>>>> x\n", r"dvc\.yaml:2: a merge left its markers here"),
        ("dvc.yaml", "", r"dvc\.yaml: empty; `git checkout dvc\.yaml` restores it"),
        ("dvc.yaml", "stages: [\n", r"dvc\.yaml: line"),
    ],
)
def test_what_cannot_be_read_is_named(name: str, text: str, message: str, folder: Path) -> None:
    Path("dvc.yaml").write_text(PIPELINE, encoding="utf-8")
    Path("dvc.lock").write_text("stages: {}\n", encoding="utf-8")
    check_files()
    Path(name).write_text(text, encoding="utf-8")
    with pytest.raises(ParamsError, match=message):
        check_files()
