"""Plumbline as a user installs it: from its wheel, beside the locked packages."""

import subprocess
import sys
from pathlib import Path


def install_wheel(wheel: Path, site: Path) -> Path:
    """Install a wheel into the folder `site`, without what it depends on."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--disable-pip-version-check", "--no-compile", "--target", str(site), str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    return site
