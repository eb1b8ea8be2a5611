"""The clone's own registry and journal: the champion, and the uses of the test split."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.contract import layout
from plumbline.contract.errors import JournalError, RegistryError
from plumbline.diagnostics.reproduce.subject import ReproductionSubject
from plumbline.registry import journal, ledger
from plumbline.registry.journal_rules import HEAD_TAG, NO_CHAMPION, format_head
from plumbline.registry.reader import open_version
from plumbline.registry.reader.addresses import BUNDLE_TAG, CHAMPION, EVIDENCE_TAG
from plumbline.registry.reader.run_files import fetch_run_file
from plumbline.registry.reader.stores import RegisteredVersion

if TYPE_CHECKING:
    from mlflow import MlflowClient


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
        # A process that brings runs to MLflow would still write where the clone is removed.
        "PLUMBLINE_TRACKING": "off",
    }


def copy_champion(
    subject: ReproductionSubject, environment: Mapping[str, str], folder: Path
) -> None:
    """Make the champion that the version was compared with that of the clone's registry.

    It keeps its number.
    """
    from mlflow import MlflowClient

    number = int(subject.evidence["champion"]["version"])
    address = f"models:/{subject.model}/{number}"
    package = folder / "champion"
    with open_version(address) as opened:
        version = opened.registered
        shutil.copytree(opened.folder, package / "artifacts/bundle")
        shutil.copy(opened.golden, package / "artifacts/golden.json")
    uri = environment["MLFLOW_TRACKING_URI"]
    client = MlflowClient(uri, uri)
    client.create_registered_model(subject.model)
    for _ in range(1, number):  # a registry assigns the numbers itself
        client.create_model_version(subject.model, package.as_uri(), await_creation_for=0)
    client.create_model_version(
        subject.model,
        package.as_uri(),
        run_id=_copy_run(client, version, folder),
        tags=dict(version.tags),
        await_creation_for=0,
    )
    client.set_registered_model_alias(subject.model, CHAMPION, str(number))
    decision = journal.Decision(
        subject.model,
        "first",
        str(number),
        NO_CHAMPION,
        version.tags[BUNDLE_TAG],
        version.tags.get(EVIDENCE_TAG, ""),
        "copied to reproduce a version",
    )
    with journal.lock_journal(environment["PLUMBLINE_JOURNAL_URI"]) as book:
        head = format_head(book.append(decision))
    # Without it the entry is one that somebody appended to the journal.
    client.set_registered_model_tag(subject.model, HEAD_TAG, head)


def _copy_run(client: "MlflowClient", version: RegisteredVersion, folder: Path) -> str:
    """Copy what the champion was made from: evidence compares with it. Returns the run's id."""
    target = folder / "run"
    target.mkdir()
    experiment = client.create_experiment("reproduce", (folder / "artifacts").as_uri())
    run_id = str(client.create_run(experiment).info.run_id)
    for path in (layout.EVIDENCE, layout.PARAMS, layout.MANIFEST):
        with contextlib.suppress(RegistryError):
            client.log_artifact(run_id, str(fetch_run_file(version, path.name, target)))
    return run_id


def copy_looks(environment: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Copy the uses of test splits, by all models, beside the clone's journal.

    Their number decides how large a difference must be to count.
    """
    try:
        ledger.copy_uses(environment["PLUMBLINE_JOURNAL_URI"])
    except JournalError as error:
        say(f"  uses of the test split are counted from 1: {error}")
