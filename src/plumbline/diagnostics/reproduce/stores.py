"""The clone's own registry and journal: the champion, and the uses of the test split."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path

from plumbline.contract.errors import JournalError, PlumblineError
from plumbline.diagnostics.reproduce.subject import ReproductionSubject
from plumbline.registry import journal
from plumbline.registry.reader import open_version

# Run by the clone's own code, which may be older than this one: names have changed since.
WRITE_LOOKS = """
import json, sys
try:
    from plumbline.registry import journal
except ImportError:  # a commit from before the package had sub-packages
    from plumbline import journal
open_journal = getattr(journal, "lock_journal", None) or journal.opened
with open_journal() as book:
    for look in json.load(sys.stdin):
        book.append(journal.Decision(**look))
"""


def build_environment(clone: Path, folder: Path) -> dict[str, str]:
    """The environment of the clone's processes: all that they write is below `folder`."""
    (folder / "tmp").mkdir()
    (clone / "mlruns").mkdir(exist_ok=True)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # Signatures are checked here: the clone's registry has none.
    inherited.pop("PLUMBLINE_PUBLIC_KEY", None)
    return {
        **inherited,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "PYTHONPATH": str(clone / "src"),
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": str(folder / "tmp"),
        "DVC_NO_ANALYTICS": "true",
        "DVC_SITE_CACHE_DIR": str(folder / "site"),
        "MLFLOW_TRACKING_URI": f"sqlite:///{clone}/mlruns/mlflow.db",
        "PLUMBLINE_JOURNAL_URI": f"sqlite:///{clone}/mlruns/journal.db",
    }


def copy_champion(
    subject: ReproductionSubject, environment: Mapping[str, str], folder: Path
) -> None:
    """Register the champion that the version was compared with in the clone's registry.

    It keeps its number.
    """
    from mlflow import MlflowClient

    number = int(subject.evidence["champion"]["version"])
    address = f"models:/{subject.model}/{number}"
    package = folder / "champion"
    with open_version(address, "reproduce") as opened:
        tags = opened.registered.tags
        shutil.copytree(opened.folder, package / "artifacts/bundle")
        shutil.copy(opened.golden, package / "artifacts/golden.json")
    uri = environment["MLFLOW_TRACKING_URI"]
    client = MlflowClient(uri, uri)
    client.create_registered_model(subject.model)
    for version in range(1, number + 1):  # a registry assigns the numbers itself
        client.create_model_version(
            subject.model,
            package.as_uri(),
            tags=dict(tags) if version == number else {},
            await_creation_for=0,
        )


def copy_looks(
    subject: ReproductionSubject, environment: Mapping[str, str], say: Callable[[str], None]
) -> None:
    """Write the uses of test splits into the clone's journal.

    Their number decides how large a difference must be to count.
    """
    try:
        with journal.lock_journal() as book:
            entries = book.read_entries(subject.model)
    except JournalError as error:
        say(f"  uses of the test split are counted from 1: {error}")
        return
    names = [field.name for field in fields(journal.Decision)]
    looks = []
    for entry in entries:
        if entry.action == "look":
            looks.append({name: getattr(entry, name) for name in names})
    done = subprocess.run(
        [sys.executable, "-c", WRITE_LOOKS],
        input=json.dumps(looks),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last_line = (done.stderr.splitlines() or [""])[-1]
        raise PlumblineError(f"the clone's journal cannot be written: {last_line}")
