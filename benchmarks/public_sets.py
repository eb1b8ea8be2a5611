"""What becomes of ten public sets with guessed params: verdict and score of each.

For each set `plumbline init` makes a repository, which runs as it is. A sound set should end in
`promote`, or in `keep` with a reason.

python benchmarks/public_sets.py [--only TEXT] [--folder FOLDER]
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

from public_texts import SETS, write_set

from plumbline.contract.machine import read_cpu_name
from plumbline.init import wheel

PASSED_ON = ("HOME", "LANG", "OMP_NUM_THREADS")
COLUMNS = (
    *("set", "rows", "classes", "winner", "accuracy", "at least", "verdict", "gates that failed"),
    "minutes",
)


def main() -> None:
    """Print the table in Markdown, one row as soon as its set is done."""
    parser = argparse.ArgumentParser(description="Ten public sets, with guessed params.")
    parser.add_argument("--only", default="", help="sets whose name holds this")
    parser.add_argument("--folder", type=Path, help="keep data and repositories in this folder")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="public-sets-"))
    folder.mkdir(exist_ok=True)
    environment = _make_environment(folder)
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" * len(COLUMNS) + "|", flush=True)
    for name in SETS:
        if options.only in name:
            print(_run_set(name, write_set(name, folder), environment), flush=True)
    print(f"\n{read_cpu_name()}")
    if options.folder is None:
        shutil.rmtree(folder)


def _make_environment(folder: Path) -> Path:
    """Install plumbline's wheel; the locked packages are those of this Python."""
    environment = folder / "environment"
    if environment.exists():
        return environment
    built = wheel.write_wheel(folder / "dist")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    command = [sys.executable, "-m", "pip", "--python", str(environment / "bin/python"), "install"]
    command += ["--quiet", "--no-deps", "--no-index", str(built)]
    subprocess.run(command, check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return environment


def _run_set(name: str, data: Path, environment: Path) -> str:
    """Make a repository for the set, run it, and return the row of the table."""
    repository = data.parent / name.replace(" ", "-")
    shutil.rmtree(repository, ignore_errors=True)
    start = time.perf_counter()
    _call(environment, data.parent, "plumbline", "init", repository.name, "--data", data.name)
    (repository / ".venv").symlink_to(environment)
    (environment / "ready").touch()  # as after `make setup`
    output = _call(environment, repository, "make", "run")
    minutes = (time.perf_counter() - start) / 60
    path = repository / "reports/evidence.json"
    evidence = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if "winner" not in evidence:
        return f"| {name} | | | | | | {output.splitlines()[-1]} | | {minutes:.1f} |"
    return _describe(name, data, evidence, minutes)


def _call(environment: Path, folder: Path, *command: str) -> str:
    """Run a command as a user would; what it prints is kept in the folder."""
    variables = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    variables["PATH"] = f"{environment / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin"
    variables["DVC_NO_ANALYTICS"] = "true"
    done = subprocess.run(
        command,
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    with (folder / "output.log").open("a", encoding="utf-8") as log:
        log.write(done.stdout)
    return done.stdout


def _describe(name: str, data: Path, evidence: dict[str, Any], minutes: float) -> str:
    with data.open(encoding="utf-8", newline="") as stream:
        labels = [row["label"] for row in csv.DictReader(stream)]
    failed = [gate["name"] for gate in evidence["gates"] if gate["status"] == "fail"]
    candidate = evidence["candidates"][evidence["winner"]]
    cells = [
        name,
        f"{len(labels):,}",
        str(len(set(labels))),
        evidence["winner"],
        f"{candidate['test']['accuracy']:.4f}",
        f"{candidate['test_interval']['low']:.4f}",
        evidence["verdict"],
        ", ".join(failed),
        f"{minutes:.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
