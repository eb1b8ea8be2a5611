"""Packages of other versions than the locks say make no result."""

from importlib.metadata import version
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT

from plumbline.contract.errors import ParamsError
from plumbline.process.locked_packages import LOCKS, require_locked_versions


def write_lock(text: str) -> None:
    Path("requirements.lock").write_text(text, encoding="utf-8")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


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
