"""Plumbline as a user installs it: from its wheel, beside the locked packages."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.support.made_once import make_once

from plumbline.init import wheel


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The wheel of this plumbline, built once for all processes that run tests."""
    (path,) = make_once(tmp_path_factory, worker_id, "wheel", wheel.write_wheel).glob("*.whl")
    return path


def make_environment(folder: Path, built: Path) -> Path:
    """Install the wheel alone; the locked packages are those of this Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    command = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install"]
    command += ["--quiet", "--no-deps", "--no-index", str(built)]
    subprocess.run(command, check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    # A path in a .pth adds the packages, but not what is installed there in editable form.
    (site / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder
