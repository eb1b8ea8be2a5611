"""`make setup` takes a Python that fits, and installs into .venv of the checkout alone."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT, get_clean_environment, make_checkout

TOOLS = ("bash", "cat", "false", "grep", "make", "sh", "tr", "uname")
# Answers what the Makefile asks of a Python, as one of another version and machine would.
PYTHON = """#!/bin/sh
case "$*" in
  *"sys.exit(not (3, 11)"*) {fits} ;;
  *version_info*) echo {version} ;;
  --version) echo Python {version}.1 ;;
esac
"""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A checkout with `make` and little else on its PATH, which is the folder bin."""
    for name in ("Makefile", "develop.mk", "pyproject.toml"):
        shutil.copy2(ROOT / name, tmp_path / name)
    for lock in ROOT.glob("requirements*.lock"):
        shutil.copy2(lock, tmp_path / lock.name)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    return tmp_path


def add_python(folder: Path, name: str, version: str, fits: bool) -> None:
    program = folder / "bin" / name
    program.write_text(PYTHON.format(version=version, fits="exit 0" if fits else "exit 1"))
    program.chmod(0o755)


def add_machine(folder: Path, system: str, machine: str) -> None:
    (folder / "bin/uname").unlink()
    (folder / "bin/uname").write_text(f"#!/bin/sh\necho {system} {machine}\n")
    (folder / "bin/uname").chmod(0o755)


def run_make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(shutil.which("make")), *arguments],
        cwd=folder,
        env={"PATH": str(folder / "bin"), "HOME": os.environ["HOME"]},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_python_that_fits_setup_says_how_to_get_one(bare: Path) -> None:
    add_python(bare, "python3", "3.10", fits=False)
    done = run_make(bare, "setup")
    assert done.returncode != 0
    assert "needs Python 3.11, 3.12 or 3.13; found Python 3.10.1" in done.stderr
    assert "uv python install 3.12" in done.stderr
    (bare / "bin/python3").unlink()
    assert "needs Python 3.11, 3.12 or 3.13; found" in run_make(bare, "setup").stderr


@pytest.mark.parametrize(
    ("program", "version", "system", "machine", "lock"),
    [
        ("python3.11", "3.11", "Linux", "x86_64", "requirements-cpu.lock"),
        ("python3.12", "3.12", "Linux", "x86_64", "requirements-cuda.lock"),
        ("python3.13", "3.13", "Linux", "aarch64", "requirements-cuda.lock"),
        ("python3", "3.13", "Darwin", "arm64", "requirements-cpu.lock"),
    ],
)
def test_setup_takes_the_python_and_the_build_of_torch_that_fit(
    bare: Path, program: str, version: str, system: str, machine: str, lock: str
) -> None:
    add_python(bare, "python3", "3.10", fits=False)
    add_python(bare, program, version, fits=True)
    add_machine(bare, system, machine)
    done = run_make(bare, "--dry-run", "setup")
    assert done.returncode == 0, done.stderr
    assert f"{program} -m venv --clear .venv" in done.stdout
    assert f"requirements.lock {lock}" in done.stdout


def test_a_build_that_is_not_locked_is_not_installed(bare: Path) -> None:
    add_python(bare, "python3.12", "3.12", fits=True)
    add_machine(bare, "Linux", "x86_64")
    done = run_make(bare, "setup", "TORCH=cpu")
    assert done.returncode != 0
    assert "no CPU build of torch is locked for Linux-x86_64-3.12" in done.stderr


def test_a_source_in_an_object_store_adds_its_packages(bare: Path) -> None:
    add_python(bare, "python3.11", "3.11", fits=True)
    params = bare / "params.yaml"
    params.write_text("data:\n  source: generated   # or s3://bucket/file.csv\n")
    assert "requirements-remotes.lock" not in run_make(bare, "--dry-run", "setup").stdout
    params.write_text("data:\n  source: s3://bucket/file.csv\n")
    assert "requirements-remotes.lock" in run_make(bare, "--dry-run", "setup").stdout


def list_files(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in sorted(folder.rglob("*"))}


@pytest.mark.slow
def test_only_its_own_environment_is_touched_and_it_may_be_moved(tmp_path: Path) -> None:
    """All that names another place is set at once; then no environment is active at all."""
    active, elsewhere = tmp_path / "active", tmp_path / "elsewhere"
    venv.create(active)
    before = list_files(active)
    settings = tmp_path / "pip.conf"
    settings.write_text(f"[global]\nuser = true\n[install]\nprefix = {elsewhere}\n")
    named = dict.fromkeys(("PIP_TARGET", "PIP_PREFIX", "PYTHONPATH"), str(elsewhere))
    named |= dict.fromkeys(("VIRTUAL_ENV", "CONDA_PREFIX", "UV_PROJECT_ENVIRONMENT"), str(active))
    named |= dict.fromkeys(("PIP_USER", "UV_SYSTEM_PYTHON"), "1")
    named |= {"UV_PYTHON": "3.9", "PIP_CONFIG_FILE": str(settings)}
    environment = get_clean_environment() | named
    environment["PATH"] = f"{active / 'bin'}{os.pathsep}{os.environ['PATH']}"
    made = make_checkout(tmp_path / "my models")
    command = ["make", "setup", f"PYTHON={sys.executable}"]
    subprocess.run(command, cwd=made.path, env=environment, check=True)
    assert list_files(active) == before
    assert not elsewhere.exists()

    bare = {"PATH": os.defpath, "HOME": os.environ["HOME"], "DVC_NO_ANALYTICS": "true"}
    renamed = made.path.rename(tmp_path / "renamed")
    for program in (["plumbline", "run"], ["dvc", "repro", "--force"]):
        ingest = [str(renamed / ".venv/bin" / program[0]), *program[1:], "ingest"]
        subprocess.run(ingest, cwd=renamed, env=bare, check=True)
    copy = shutil.copytree(renamed, tmp_path / "copy", symlinks=True, copy_function=os.link)
    for program in ("python", "pip"):
        asked = ["-c", "import plumbline; print(plumbline.__file__)"]
        asked = ["show", "--files", "plumbline"] if program == "pip" else asked
        said = subprocess.check_output([copy / ".venv/bin" / program, *asked], env=bare, text=True)
        assert f"{copy}/" in said
        assert f"{renamed}/" not in said
