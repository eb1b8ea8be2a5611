"""A registered version once more: its commit in a clone of its own, the same stages, and what comes out compared.

The clone has a DVC cache, a registry and a journal of its own, with no more in them than the champion and the uses of
the test split: every stage really runs, and nothing is written where decisions are made.
"""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from types import FrameType
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import BundleError, JournalError, PlumblineError, RegistryError
from plumbline.contract.params import load_yaml
from plumbline.registry import journal, model_versions
from plumbline.registry.package import packaging
from plumbline.tracking import mlflow_runs

NUM_LAST_LINES = 15
GRACE_S = 10.0  # for stages to end on SIGTERM
TERMINATED = 143
PREDICTOR = "predictor.py"
LOOKS = """
import json, sys
try:
    from plumbline.registry import journal
except ImportError:  # a commit from before the package had rooms
    from plumbline import journal
with journal.opened() as book:
    for look in json.load(sys.stdin):
        book.append(journal.Decision(**look))
"""  # run by the clone's own code


@dataclass(frozen=True)
class Row:
    """One thing that was compared; `needed`: without it the version is not reproduced."""

    what: str
    registered: str
    reproduced: str
    same: bool
    needed: bool
    note: str = ""


@dataclass(frozen=True)
class Reproduction:
    """What was compared, and what that means in a sentence."""

    rows: list[Row]
    summary: str

    @property
    def same(self) -> bool:
        """Whether data, bundle and the winner's metrics are those of the registered version."""
        return all(row.same for row in self.rows if row.needed)


@dataclass(frozen=True)
class Subject:
    """A registered version as its tags and its run's artifacts tell."""

    model: str
    version: str
    commit: str
    dirty: bool
    bundle: str  # digest
    evidence: Mapping[str, Any]
    params: Path | None  # params.yaml as it was registered; None where the run holds none

    def __str__(self) -> str:
        return f"{self.model} version {self.version}"


def reproduce(
    model: str, version: str | None, *, anyway: bool, keep: Path | None, say: Callable[[str], None]
) -> Reproduction:
    """Run the pipeline of a registered version (None: the champion) again and compare; `say` is told the progress.

    Raises PlumblineError where the version was made from a changed tree (unless `anyway`), its commit is not in this
    clone, its evidence is not what was registered, or a stage fails. The clone is left in `keep`, or nowhere.
    """
    with _terminable(), tempfile.TemporaryDirectory(prefix="plumbline-reproduce-") as private:
        folder = Path(private)
        subject = _subject(model, version, folder)
        if subject.dirty and not anyway:
            raise PlumblineError(
                f"{subject} was made from a working tree with changes that are in no commit, so commit "
                f"{subject.commit[:12]} may not be what made it; add --anyway to reproduce that commit all the same"
            )
        clone = _target(keep) if keep else folder / "clone"
        say(f"{subject}: commit {subject.commit} in {clone}")
        _clone(subject, clone)
        _prepare(subject, clone, say)
        environment = _environment(clone, folder)
        if subject.evidence.get("champion"):
            _bring_champion(subject, environment, folder)
        if subject.evidence.get("looks"):
            _bring_looks(subject, environment, say)
        _repro(clone, environment, say)
        return compare(subject, clone, folder)


def compare(subject: Subject, clone: Path, folder: Path) -> Reproduction:
    """The registered evidence beside that in `clone`; `folder` takes what is fetched for it."""
    old, new = subject.evidence, layout.read_json(clone / layout.EVIDENCE)
    winner = old["winner"]
    digests = [
        (name, old["digests"].get(name), new["digests"].get(name))
        for name in ("manifest", "examples", "params")
    ]
    rows = [
        Row(name, _short(a), _short(b), a == b, needed=name == "manifest") for name, a, b in digests
    ]
    rows.append(Row("winner", winner, new["winner"], winner == new["winner"], needed=False))
    rows.append(_bundle(subject, new, clone, folder))
    for name, scores in old["candidates"].items():
        rows.append(
            _metrics(
                name,
                old["metric"]["name"],
                scores,
                new["candidates"].get(name),
                needed=name == winner,
            )
        )
    rows.append(
        Row(
            "verdict",
            old["verdict"],
            new["verdict"],
            old["verdict"] == new["verdict"],
            needed=False,
        )
    )
    return Reproduction(rows, summary(subject, rows))


def summary(subject: Subject, rows: list[Row]) -> str:
    """What the rows mean, in a sentence: the same weights and the same metrics are two things."""
    needed = {row.what: row for row in rows if row.needed}
    differ = [name for name, row in needed.items() if not row.same]
    if not differ:
        return f"{subject} is reproduced: the same data, the same weights, the same metrics"
    if differ != ["bundle"]:
        return f"{subject} is not reproduced: {', '.join(differ)} differ{'s' if len(differ) == 1 else ''}"
    if needed["bundle"].note == PREDICTOR:
        return f"{subject} is not reproduced: the weights and the metrics are the same, the predictor's code is not"
    return (
        f"{subject} is not reproduced to the bit: the metrics are the same, the weights are not. Another machine, "
        "number of threads or version of a library can move the last bits of weights"
    )


def _subject(model: str, version: str | None, folder: Path) -> Subject:
    found = model_versions.resolve(
        f"models:/{model}/{version}" if version else f"models:/{model}@{model_versions.CHAMPION}"
    )
    commit = found.tags.get("plumbline.git_commit")
    if not commit:
        raise PlumblineError(
            f"{model} version {found.version} has no tag plumbline.git_commit: no commit made it"
        )
    evidence = model_versions.evidence(found)
    try:
        params = packaging.recorded(found, layout.PARAMS.name, folder)
    except RegistryError:
        params = None
    return Subject(
        model=model,
        version=str(found.version),
        commit=commit,
        dirty=found.tags.get("plumbline.git_dirty") != "false",
        bundle=found.tags[model_versions.BUNDLE_TAG],
        evidence=evidence,
        params=params,
    )


def _target(keep: Path) -> Path:
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise PlumblineError(f"--keep {keep}: it exists and is not an empty folder; name another")
    return keep.resolve()


def _clone(subject: Subject, clone: Path) -> None:
    if _git("cat-file", "-e", f"{subject.commit}^{{commit}}").returncode != 0:
        raise PlumblineError(
            f"{subject} was made from commit {subject.commit}, which is not in this clone; fetch it (git fetch --all, "
            "in a shallow clone git fetch --unshallow), then try again"
        )
    for command in (
        ("clone", "--quiet", "--no-hardlinks", "--no-checkout", "--", ".", str(clone)),
        ("-C", str(clone), "checkout", "--quiet", "--detach", subject.commit),
    ):
        done = _git(*command)
        if done.returncode != 0:
            raise PlumblineError(
                f"commit {subject.commit} cannot be checked out: {done.stderr.strip()}"
            )


def _prepare(subject: Subject, clone: Path, say: Callable[[str], None]) -> None:
    """All that the commit does not hold: parameters of a changed tree, raw data, the champion's name, DVC's cache."""
    if subject.params and layout.digest(subject.params) != layout.digest(clone / layout.PARAMS):
        shutil.copyfile(subject.params, clone / layout.PARAMS)
        say(
            f"  {layout.PARAMS} of the commit is not the one that was registered; the registered one is used"
        )
    num_copied = _copy_data(clone)
    if num_copied:
        say(
            f"  {num_copied} files of raw data that git does not hold are those of this checkout, as they are now"
        )
    if "champion" in subject.evidence:
        path = clone / layout.CHAMPION
        pointers = layout.read_json(path) if path.exists() else {}
        champion = subject.evidence["champion"]
        pointer = {key: champion[key] for key in ("version", "bundle")} if champion else None
        layout.write_json(path, pointers | {subject.model: pointer})
    (clone / ".dvc/config.local").write_text("[cache]\n    dir = cache\n", encoding="utf-8")


def _copy_data(clone: Path) -> int:
    """Copy the files below `data.watch` that git does not hold here and that `clone` lacks; how many."""
    watch = Path(load_yaml(clone / layout.PARAMS)["data"]["watch"])
    if watch.is_absolute() or ".." in watch.parts:  # the clone reads it where it is, or not at all
        return 0
    listed = _git("ls-files", "-z", "--", str(watch)).stdout
    held = (
        {Path(name) for name in listed.split("\0") if name} if (clone / watch).exists() else set()
    )
    files = [watch] if watch.is_file() else [path for path in watch.rglob("*") if path.is_file()]
    lacking = [path for path in files if path not in held and not (clone / path).exists()]
    for path in lacking:
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, clone / path)
    return len(lacking)


def _environment(clone: Path, folder: Path) -> dict[str, str]:
    """Where the clone's processes find code and programs, and leave what they write: all of it below `folder`."""
    (folder / "tmp").mkdir()
    (clone / "mlruns").mkdir(exist_ok=True)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PYTHONPATH": str(clone / "src"),
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": str(folder / "tmp"),
        "DVC_NO_ANALYTICS": "true",
        "DVC_SITE_CACHE_DIR": str(folder / "site"),
        "MLFLOW_TRACKING_URI": f"sqlite:///{clone}/mlruns/mlflow.db",
        "PLUMBLINE_JOURNAL_URI": f"sqlite:///{clone}/mlruns/journal.db",
    }


def _bring_champion(subject: Subject, environment: Mapping[str, str], folder: Path) -> None:
    """Register the champion that the version was compared with, under its own number, in the clone's registry."""
    from mlflow import MlflowClient

    champion = subject.evidence["champion"]
    number = int(champion["version"])
    uri = f"models:/{subject.model}/{number}"
    tags = model_versions.resolve(uri).tags
    package = _package(uri, folder / "champion")
    store = environment["MLFLOW_TRACKING_URI"]
    client = MlflowClient(store, store)
    client.create_registered_model(subject.model)
    for version in range(1, number + 1):  # a registry gives out the numbers itself
        client.create_model_version(
            subject.model,
            package.as_uri(),
            tags=dict(tags) if version == number else {},
            await_creation_for=0,
        )


def _bring_looks(
    subject: Subject, environment: Mapping[str, str], say: Callable[[str], None]
) -> None:
    """Put the uses of test splits into the clone's journal: how many there were decides what a difference must show."""
    try:
        with journal.opened() as book:
            looks = [entry for entry in book.entries(subject.model) if entry.action == "look"]
    except JournalError as error:
        say(f"  uses of the test split are counted from 1: {error}")
        return
    names = [field.name for field in fields(journal.Decision)]
    rows = json.dumps([{name: getattr(look, name) for name in names} for look in looks])
    done = subprocess.run(
        [sys.executable, "-c", LOOKS],
        input=rows,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise PlumblineError(
            f"the clone's journal cannot be written: {(done.stderr.splitlines() or [''])[-1]}"
        )


def _repro(clone: Path, environment: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Run DVC in a session of its own, so that it and all its stages end together, however this ends."""
    last: deque[str] = deque(maxlen=NUM_LAST_LINES)
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "dvc", "repro", "--no-run-cache", "evaluate"],
        cwd=clone, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as started:  # fmt: skip
        try:
            for line in started.stdout or ():
                last.append(line.rstrip())
                if stage := re.match(r"Running stage '([^']+)'", line):
                    say(f"  {stage[1]}")
            code = started.wait()
        finally:
            _end(started)
    if code != 0:
        said = "\n".join(f"  {line}" for line in last if line)
        raise PlumblineError(
            f"`dvc repro evaluate` failed in the clone; --keep FOLDER keeps it. Its last words:\n{said}"
        )


def _end(started: subprocess.Popen[str]) -> None:
    """End every process of the session that is still there: politely, then not."""
    for number, patience in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, 1.0)):
        try:
            os.killpg(started.pid, number)
            until = time.monotonic() + patience
            while time.monotonic() < until:
                started.poll()
                os.killpg(started.pid, 0)
                time.sleep(0.05)
        except ProcessLookupError:
            return


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, so that clone and processes go with it."""

    def leave(signum: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _bundle(subject: Subject, new: Mapping[str, Any], clone: Path, folder: Path) -> Row:
    """The winner's bundle; where it differs, which of its files do."""
    old, found = subject.bundle, new["digests"]["bundle"]
    note = (
        ""
        if old == found
        else _differing_files(subject, clone / layout.bundle(new["winner"]), folder)
    )
    return Row("bundle", _short(old), _short(found), old == found, needed=True, note=note)


def _differing_files(subject: Subject, found: Path, folder: Path) -> str:
    try:
        package = _package(f"models:/{subject.model}/{subject.version}", folder / "package")
        old, new = (
            bundle.verify(files)["files"] for files in (package / "artifacts/bundle", found)
        )
    except (BundleError, RegistryError) as error:
        return f"its files cannot be compared ({error})"
    return ", ".join(name for name in sorted({*old, *new}) if old.get(name) != new.get(name))


def _package(uri: str, target: Path) -> Path:
    """All files of a registered version, copied to `target`."""
    from mlflow.artifacts import download_artifacts
    from mlflow.exceptions import MlflowException

    target.mkdir()
    try:
        return Path(download_artifacts(uri, dst_path=str(target)))
    except (MlflowException, OSError) as error:
        raise RegistryError(
            f"{uri}: its files cannot be fetched ({mlflow_runs.first_line(error)})"
        ) from None


def _metrics(
    name: str, metric: str, old: Mapping[str, Any], new: Mapping[str, Any] | None, *, needed: bool
) -> Row:
    """Every metric of one candidate on both splits, compared exactly; the largest difference is named."""
    said = f"{metric} {old['test'][metric]:.6f}"
    if new is None:
        return Row(name, said, "not among the candidates", same=False, needed=needed)
    keys = [
        (split, key)
        for split in ("validation", "test")
        for key in {*old.get(split, {}), *new.get(split, {})}
    ]
    apart = {}
    for split, key in keys:
        one, other = old.get(split, {}).get(key), new.get(split, {}).get(key)
        if one != other:
            apart[f"{split} {key}"] = math.inf if one is None or other is None else abs(one - other)
    worst = max(sorted(apart), key=apart.__getitem__, default="")
    note = (
        f"{len(apart)} of {len(keys)} metrics differ, most {worst}: by {apart[worst]:.2g}"
        if apart
        else ""
    )
    return Row(
        name, said, f"{metric} {new['test'].get(metric, math.nan):.6f}", not apart, needed, note
    )


def _short(digest: str | None) -> str:
    return digest[:12] if digest else "none"


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise PlumblineError(f"git cannot be run ({error.strerror}); install it") from None
