"""Write down what a user sees of a commit, and compare two such records.

    python -m tests.support.net record FILE [--commit HEAD] [--recipes quick ...] [--sets FOLDER]
    python -m tests.support.net compare BEFORE AFTER

`record` runs recipes in throw-away clones and adds to FILE: digests of data and bundles, verdict
and gates, runs of MLflow, files, and what commands, refused params and the server say. `compare`
prints what differs, and exits with 1 if anything does; seconds and memory are printed as ratios.
Digests depend on the CPU: both records are to come from one machine. Linux only.
"""

import argparse
import ctypes
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.support.checkouts import ROOT, get_clean_environment, join_path
from tests.support.loopback import find_free_port

from plumbline.contract.machine import read_cpu_name

RECIPES = (
    *("quick", "sequence_bayes", "signal_extraction", "answer_consensus", "filter_design"),
    "text_classification",
)
SHIPPED = "text_classification"  # params.yaml is its copy
PR_SET_CHILD_SUBREAPER = 36  # of prctl: who outlives its parent becomes a child of this process
FIGURES = "figures.jsonl"
PAUSE_S = 0.2
START_TIMEOUT_S = 300
NUM_LINES = 20  # of what a run that failed printed last
MODEL = "ticket-router"  # which the recipe quick registers
COMMANDS = ("doctor", "report --verdict", "report", f"champion {MODEL}", f"journal {MODEL}")
REGISTERED = (*COMMANDS, "run", f"promote {MODEL} 1 --expect 1", f"rollback {MODEL}")
REFUSED = {  # what is replaced in params.yaml, and by what
    "a key that does not exist": ("seed: 7", "seed: 7\nsead: 8"),
    "a word for a number": ("seed: 7", "seed: seven"),
    "a task that does not exist": ("task: text_classification", "task: text_clasification"),
    "a file that does not exist": ("source: generated", "source: data/raw/absent.csv"),
    "not YAML": ("seed: 7", "seed: [7"),
}
VOLATILE = (  # in what is printed: what differs from run to run, and its name
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00)?", "TIME"),
    (r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b", "DIGEST"),
    (r"[\d.,]+ (min|s|ms|kB|MB|GB)\b", "FIGURE"),
    (r"\S*/bin/plumbline", "plumbline"),
    (r"[ ─━]{2,}", " "),  # the width of a table
)
SPEED_GATE = "budget"  # what it measures differs from run to run
LIST_HELP = """
import json
from typer.main import get_command
from typer.testing import CliRunner
from plumbline.cli import app
def list_names(command, words=()):
    yield words
    for name, inner in getattr(command, "commands", {}).items():
        yield from list_names(inner, (*words, name))
names = list(list_names(get_command(app)))
run = CliRunner().invoke
print(json.dumps({" ".join(words): run(app, [*words, "--help"]).output for words in names}))
"""


# What the shell finds as `plumbline`: that of the commit, installed or not.
PLUMBLINE = """#!{python}
import sys
from plumbline.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""
# What stages find as `python`: it runs the real one, and writes down what that used.
PYTHON = """#!{python} -IS
import json, resource, subprocess, sys
code = subprocess.call([{python!r}, *sys.argv[1:]])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
figures = dict(cpu_s=used.ru_utime + used.ru_stime, peak_mb=used.ru_maxrss / 1000)
with open({log!r}, "a") as file:
    print(json.dumps([" ".join(sys.argv[2:]), figures]), file=file)
sys.exit(code if code >= 0 else 128 - code)
"""


@dataclass
class Clone:
    """A commit in a folder of its own, with the packages of this environment."""

    folder: Path
    source: Path
    programs: Path  # searched before those of this environment

    @property
    def environment(self) -> dict[str, str]:
        """What a user's shell has."""
        return {
            **get_clean_environment(),
            "PATH": join_path(self.programs, Path(sys.executable).parent, os.environ["PATH"]),
            "PYTHONPATH": str(self.source),
            "DVC_NO_ANALYTICS": "true",
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "COLUMNS": "160",
        }

    def call(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a user does."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def record(self, *command: str) -> dict[str, Any]:
        """Run a command, and return its exit code and what it printed."""
        done = self.call(*command)
        return {"exit": done.returncode, "printed": self.replace_volatile(done.stdout)}

    def replace_volatile(self, text: str) -> list[str]:
        """Give names to what is different in every run; return the lines."""
        text = text.replace(str(self.folder), "CHECKOUT")
        for pattern, name in VOLATILE:
            text = re.sub(pattern, name, text)
        return [line.strip() for line in text.splitlines() if line.strip()]


@contextmanager
def open_clone(commit: str) -> Iterator[Clone]:
    """Clone this repository at `commit`; the folder goes when no process works in it."""
    with tempfile.TemporaryDirectory(prefix="net-") as name:
        folder = Path(name).resolve() / "checkout"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=folder, check=True)
        clone = Clone(folder, folder / "src", folder.with_name("programs"))
        write_programs(clone.programs)
        yield clone
        wait_for_orphans()


def write_programs(folder: Path) -> None:
    """Write what a clone finds before the programs of this environment."""
    folder.mkdir()
    for name, text in {"plumbline": PLUMBLINE, "python": PYTHON}.items():
        filled = text.format(python=sys.executable, log=f"{folder}/{FIGURES}")
        (folder / name).write_text(filled, encoding="utf-8")
        (folder / name).chmod(0o755)


def wait_for_orphans() -> None:
    """Wait for what outlived its parents, such as what brings runs to MLflow."""
    with suppress(ChildProcessError):
        while True:
            os.wait()


def record_run(clone: Clone) -> dict[str, Any]:
    """Run the pipeline, and record what it leaves."""
    before = read_cpu_s()
    done = clone.record("plumbline", "run")
    wait_for_orphans()
    figures = {"all": {"cpu_s": read_cpu_s() - before}, **read_figures(clone.programs)}
    seen: dict[str, Any] = {"exit": done["exit"], "figures": figures}
    try:
        evidence = json.loads(clone.call("plumbline", "report", "--json").stdout)
    except json.JSONDecodeError:
        return {**seen, "printed": done["printed"][-NUM_LINES:]}
    gates = {gate["name"]: gate for gate in evidence["gates"]}
    del gates[SPEED_GATE]["reason"]
    figures[f"gate {SPEED_GATE}"] = {"measured": gates[SPEED_GATE].pop("measured")}
    kept = ("verdict", "winner", "ranking", "summary", "model")
    return {
        **seen,
        **{key: evidence[key] for key in kept},
        "gates": gates,
        "metrics": json.loads((clone.folder / "reports/metrics.json").read_text(encoding="utf-8")),
        "digests": digest_files(clone.folder, "models", "data"),
        "files": list_new_files(clone.folder),
        "mlflow": describe_mlflow(clone.folder),
    }


def read_figures(programs: Path) -> dict[str, Any]:
    """Return what each stage used; nothing where the run ended before the first one."""
    path = programs / FIGURES
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return dict(map(json.loads, lines))


def read_cpu_s() -> float:
    """Return the CPU seconds of all processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def digest_files(folder: Path, *names: str) -> dict[str, str]:
    """Return the digest of each file below the folders `names`."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for name in names
        for path in sorted((folder / name).rglob("*"))
        if path.is_file()
    }


def list_new_files(folder: Path) -> list[str]:
    """List the files that git does not know; without bytecode, DVC's cache, MLflow's artifacts."""
    command = ["git", "ls-files", "--others"]
    listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    left_out = re.compile(r"__pycache__/|^\.dvc/(cache|tmp)/|^mlruns/artifacts/")
    return [name for name in listed.splitlines() if not left_out.search(name)]


def describe_mlflow(folder: Path) -> dict[str, Any]:
    """Describe runs by the names of what they hold, and versions with their aliases.

    Metrics of the machine are left out: only a stage that takes long enough has them.
    """
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/mlruns/mlflow.db")
    runs: dict[str, Any] = {}
    for experiment in client.search_experiments():
        for run in client.search_runs([experiment.experiment_id]):
            commit = run.data.tags.get("mlflow.source.git.commit", "")[:7]
            name = f"{experiment.name}: {(run.info.run_name or '').replace(commit, 'COMMIT')}"
            while name in runs:
                name += " (again)"
            runs[name] = {
                "status": run.info.status,
                "metrics": [name for name in sorted(run.data.metrics) if name[:7] != "system/"],
                "params": sorted(run.data.params),
                "tags": sorted(run.data.tags),
                "datasets": [entry.dataset.name for entry in run.inputs.dataset_inputs],
                "artifacts": [file.path for file in client.list_artifacts(run.info.run_id)],
            }
    versions = {
        f"{model.name} {version.version}": {"tags": sorted(version.tags), "status": version.status}
        for model in client.search_registered_models()
        for version in client.search_model_versions(f"name = '{model.name}'")
    }
    aliases = {model.name: model.aliases for model in client.search_registered_models()}
    return {"runs": runs, "versions": versions, "aliases": aliases}


def record_commands(clone: Clone) -> dict[str, Any]:
    """Record all help, and what commands and refused params say in a fresh clone."""
    helps = json.loads(clone.call(sys.executable, "-c", LIST_HELP).stdout)
    seen: dict[str, Any] = {
        f"{name} --help".strip(): clone.replace_volatile(text) for name, text in helps.items()
    }
    for command in COMMANDS:
        seen[command] = clone.record("plumbline", *command.split())
    params = clone.folder / "params.yaml"
    shipped = params.read_text(encoding="utf-8")
    for title, (old, new) in REFUSED.items():
        params.write_text(shipped.replace(old, new, 1), encoding="utf-8")
        seen[f"run ({title})"] = clone.record("plumbline", "run")
    params.write_text(shipped, encoding="utf-8")
    return seen


def read_openapi(clone: Clone) -> Any:
    """Start the server, and return the description of its routes."""
    port = find_free_port()
    command = ["plumbline", "serve", f"models:/{MODEL}@champion", "--port", str(port)]
    server = subprocess.Popen(command, cwd=clone.folder, env=clone.environment)
    until = time.monotonic() + START_TIMEOUT_S
    try:
        while server.poll() is None and time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/openapi.json") as answer:
                    return json.load(answer)
            except OSError:
                time.sleep(PAUSE_S)
        raise TimeoutError(f"{' '.join(command)}: exit code {server.poll()}, not ready")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def record(asked: argparse.Namespace) -> int:
    """Record a commit; what the file has of other recipes stays."""
    seen = json.loads(asked.file.read_text(encoding="utf-8")) if asked.file.exists() else {}
    seen["machine"] = read_cpu_name()
    runs = seen.setdefault("runs", {})
    write_record(asked.file, seen)  # fails now, not in many minutes, where it cannot be written
    for recipe in asked.recipes:
        if recipe == "quick":
            with open_clone(asked.commit) as clone:
                seen["commands"] = record_commands(clone)
        with open_clone(asked.commit) as clone:
            if recipe != SHIPPED:
                used = clone.call("plumbline", "recipe", recipe, "--use")
                if used.returncode:
                    sys.exit(f"{asked.commit}: {used.stdout}")
            runs[recipe] = record_run(clone)
            if recipe == "quick":
                for command in REGISTERED:
                    said = clone.record("plumbline", *command.split())
                    seen["commands"][f"{command} (registered)"] = said
                seen["openapi"] = read_openapi(clone)
        write_record(asked.file, seen)
    for path in sorted(asked.sets.glob("*/train.csv")) if asked.sets else []:
        with open_clone(asked.commit) as clone:
            runs[f"set {path.parent.name}"] = record_set(clone, path.parent)
        write_record(asked.file, seen)
    return 0


def record_set(clone: Clone, data: Path) -> dict[str, Any]:
    """Let `plumbline init` make a repository for the files in `data`, and run its linear model."""
    from ruamel.yaml import YAML

    repository = replace(clone, folder=clone.folder.with_name(data.name))
    files = ["--data", str(data / "train.csv")]
    if (data / "test.csv").exists():
        files += ["--test", str(data / "test.csv")]
    created = clone.record("plumbline", "init", str(repository.folder), *files)
    yaml, path = YAML(), repository.folder / "params.yaml"
    params = yaml.load(path)
    proposed = json.loads(json.dumps(params))
    params["candidates"] = {"linear": params["candidates"]["linear"]}
    params["control"]["candidates"] = ["linear"]
    yaml.dump(params, path)
    return {"init": created, "proposed": proposed, **record_run(repository)}


def write_record(path: Path, seen: dict[str, Any]) -> None:
    """Write what is known so far: a record takes many minutes."""
    path.write_text(json.dumps(seen, indent=1, sort_keys=True), encoding="utf-8")


def compare(asked: argparse.Namespace) -> int:
    """Print what differs between two records; return 1 if anything does."""
    before, after = (
        json.loads(path.read_text(encoding="utf-8")) for path in (asked.before, asked.after)
    )
    differences = list_differences(before, after)
    alone = sorted(set(before["runs"]) ^ set(after["runs"]))
    lines = [*list_figures(before, after), *differences, f"{len(differences)} differences"]
    lines += [f"not compared, as it is in one record alone: {name}" for name in alone]
    print("\n".join(lines))  # noqa: T201
    return int(bool(differences))


def list_figures(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """List the seconds and megabytes of the runs that are in both records, and their ratios."""
    old, new = (
        dict(flatten({name: run["figures"] for name, run in seen["runs"].items()}))
        for seen in (before, after)
    )
    return [
        f"{path:56} {old[path]:9.3f} -> {new[path]:9.3f}  {new[path] / (old[path] or 1):6.2f}"
        for path in old
        if path in new
    ]


def list_differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """List what only one record has, and each value that differs; a run must be in both."""
    shared = sorted(set(before["runs"]) & set(after["runs"]))
    old, new = (
        dict(flatten({**seen, "runs": {name: seen["runs"][name] for name in shared}}))
        for seen in (before, after)
    )
    lines = [(path, "-", value) for path, value in old.items() - new.items()]
    lines += [(path, "+", value) for path, value in new.items() - old.items()]
    in_order = sorted(lines, key=lambda line: (line[0], line[1] == "+"))
    return [f"{sign} {path} {value}" for path, sign, value in in_order if "/figures/" not in path]


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value with its path; a text of a list is part of the path, as its place is not."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flatten(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            if isinstance(inner, str):
                yield f"{path}: {inner}", ""
            else:
                yield from flatten(inner, f"{path}/{number}")
    else:
        yield path, value


def main(arguments: Sequence[str]) -> int:
    """Record or compare; exit code 1 where records differ."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.net",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    recorded = commands.add_parser(
        "record",
        help="run a commit, and add what it does to a file",
        description="Clones the commit once for each recipe, runs `plumbline run` there with the "
        "packages of this environment, and adds to FILE. `quick` also runs all --help, other "
        "commands, refused params and the server. CPU minutes, measured: quick 4, answer_consensus "
        "3, sequence_bayes 10, signal_extraction 16.",
    )
    recorded.add_argument("file", type=Path)
    recorded.add_argument("--commit", default="HEAD", help="default: HEAD, without what is edited")
    recorded.add_argument(
        "--recipes",
        nargs="*",
        metavar="NAME",
        choices=RECIPES,
        default=RECIPES,
        help="default: all",
    )
    recorded.add_argument(
        "--sets",
        type=Path,
        help="a folder of folders with train.csv and test.csv: `plumbline init` and the linear "
        "model of each, some minutes",
    )
    recorded.set_defaults(function=record)
    compared = commands.add_parser("compare", help="print what differs between two files")
    compared.add_argument("before", type=Path)
    compared.add_argument("after", type=Path)
    compared.set_defaults(function=compare)
    asked = parser.parse_args(arguments)
    return int(asked.function(asked))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
