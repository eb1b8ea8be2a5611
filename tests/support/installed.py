"""Plumbline as a user installs it: from its wheel, beside the locked packages."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.made_once import make_once
from tests.support.other_plumbline import unpack

from plumbline.init import wheel


def build_once(factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the wheel of this plumbline, built once for all processes that run tests."""
    (built,) = make_once(factory, worker_id, "wheel", wheel.write_wheel).glob("*.whl")
    return built


def unpack_once(factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a folder with what is in that wheel, which Python can import."""
    built = build_once(factory, worker_id)
    return make_once(factory, worker_id, "unpacked-wheel", lambda folder: unpack(built, folder))


def install_wheel(built: Path, site: Path) -> Path:
    """Install a wheel into the folder `site`, without what it depends on."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--disable-pip-version-check", "--no-compile", "--target", str(site), str(built)]
    subprocess.run(command, check=True, capture_output=True)
    return site
