"""GitHub's own parser of workflows and evaluator of their expressions, which run on Node."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parent / "github"
PACKAGES = ("package.json", "package-lock.json")
MIN_NODE = 20
# What a registry that cannot be reached may cost.
NPM_CI = ("npm", "ci", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=20000")
STATUS = ("success", "failure", "cancelled", "always")


def check_files(*files: Path) -> list[str]:
    """Return the faults of workflow and action files."""
    command = ["node", str(install_packages() / "check_files.js"), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    faults: list[str] = json.loads(done.stdout)
    return faults


def fill(texts: Mapping[str, Any], known: Mapping[str, Any], *, is_fine: bool) -> dict[str, str]:
    """Return the texts with all of their ${{ }} replaced; `is_fine`: nothing failed so far."""
    parts = {key: re.split(r"\$\{\{(.*?)\}\}", _show(text)) for key, text in texts.items()}
    expressions = [part for found in parts.values() for part in found[1::2]]
    values = iter(_evaluate(expressions, known, is_fine))
    for found in parts.values():
        found[1::2] = [next(values) for _ in found[1::2]]
    return {key: "".join(found) for key, found in parts.items()}


def holds(condition: str | None, known: Mapping[str, Any], *, is_fine: bool) -> bool:
    """Whether an `if:` lets its step or job run; `success()` unless it calls a status function."""
    bare = re.sub(r"^\$\{\{(.*)\}\}$", r"\1", (condition or "success()").strip(), flags=re.DOTALL)
    asks = re.search(rf"\b({'|'.join(STATUS)})\(", bare)
    return (is_fine or bool(asks)) and _evaluate([f"!!({bare})"], known, is_fine) == ["true"]


@cache
def install_packages() -> Path:
    """Install what the lock names below the user's cache folder, once; skips where it cannot be."""
    _demand_node()
    digest = hashlib.sha256(b"".join((SOURCE / name).read_bytes() for name in PACKAGES))
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "plumbline"
    installed = base / f"github-parser-{digest.hexdigest()[:16]}"
    if not installed.is_dir():
        base.mkdir(parents=True, exist_ok=True)
        _install(base, installed)
    for script in SOURCE.glob("*.js"):
        shutil.copy2(script, installed)
    return installed


def _show(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _evaluate(expressions: list[str], known: Mapping[str, Any], is_fine: bool) -> list[str]:
    """Return the text of each value; `known` are contexts by name."""
    if not expressions:
        return []
    status = dict(zip(STATUS, (is_fine, not is_fine, False, True), strict=True))
    asked = {"known": known, "status": status, "expressions": expressions}
    process = _start_evaluator()
    print(json.dumps(asked), file=process.stdin)
    answers = json.loads(process.stdout.readline())  # type: ignore[union-attr]
    for expression, (kind, text) in zip(expressions, answers, strict=True):
        assert kind != "error", f"{expression}: {text}"
    return [text or "" for _, text in answers]


@cache
def _start_evaluator() -> "subprocess.Popen[str]":
    """Start what answers a line with a line for as long as this process runs."""
    command = ["node", str(install_packages() / "evaluate.js")]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)


def _demand_node() -> None:
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("GitHub's parser runs on Node: node or npm is not installed")
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    match = re.match(r"v(\d+)\.", said)
    if match is None or int(match[1]) < MIN_NODE:
        pytest.skip(f"GitHub's parser needs Node {MIN_NODE} or newer, found {said.strip()}")


def _install(base: Path, installed: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir=base))
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
