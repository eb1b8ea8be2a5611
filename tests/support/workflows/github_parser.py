"""GitHub's own parser of workflows and evaluator of expressions, which run on Node."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parent / "github"
PACKAGES = ("package.json", "package-lock.json")
MIN_NODE = 20
# What a registry that cannot be reached may cost.
NPM_CI = ("npm", "ci", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=20000")


@dataclass
class GitHubParser:
    """A folder with the packages and the scripts that call them."""

    folder: Path

    @cached_property
    def _evaluator(self) -> "subprocess.Popen[str]":
        """Answers a line with a line, for as long as this process runs."""
        command = ["node", str(self.folder / "evaluate.js")]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)

    def check(self, *files: Path) -> list[str]:
        """Return the faults of workflow and action files."""
        command = ["node", str(self.folder / "check_files.js"), *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        faults: list[str] = json.loads(done.stdout)
        return faults

    def evaluate(
        self, expressions: list[str], known: Mapping[str, Any], status: Mapping[str, bool]
    ) -> list[tuple[int | str, str | None]]:
        """Return the kind and the text of each value; "error" and its message.

        `known` are contexts by name, `status` the answers of `success()` and its like.
        """
        asked = {"known": known, "status": status, "expressions": expressions}
        process = self._evaluator
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(asked) + "\n")
        return [tuple(found) for found in json.loads(process.stdout.readline())]


def install_parser() -> GitHubParser:
    """Install what the lock names below the user's cache folder, once; skips where it cannot be."""
    _demand_node()
    digest = hashlib.sha256(b"".join((SOURCE / name).read_bytes() for name in PACKAGES))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "plumbline"
    installed = cache / f"github-parser-{digest.hexdigest()[:16]}"
    if not installed.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        _install(cache, installed)
    for script in SOURCE.glob("*.js"):
        shutil.copy2(script, installed)
    return GitHubParser(installed)


def _demand_node() -> None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("GitHub's parser runs on Node: node or npm is not installed")
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    match = re.match(r"v(\d+)\.", said)
    if match is None or int(match[1]) < MIN_NODE:
        pytest.skip(f"GitHub's parser needs Node {MIN_NODE} or newer, found {said.strip()}")


def _install(cache: Path, installed: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir=cache))
    for name in PACKAGES:
        shutil.copy2(SOURCE / name, folder)
    done = subprocess.run(NPM_CI, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(folder)
        reason = next((line for line in done.stderr.splitlines() if "error" in line), "no reason")
        pytest.skip(f"GitHub's parser cannot be installed: {' '.join(NPM_CI[:2])}: {reason}")
    try:
        folder.rename(installed)
    except OSError:  # another process was faster
        shutil.rmtree(folder)
