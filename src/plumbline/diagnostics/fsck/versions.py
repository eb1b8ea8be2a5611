"""Versions against their files, runs and commits; runs against versions and processes."""

import socket
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError, RegistryError
from plumbline.diagnostics.finding import Finding
from plumbline.diagnostics.fsck.store import Store, pages
from plumbline.registry import model_versions
from plumbline.registry.package import packaging

if TYPE_CHECKING:
    from mlflow import MlflowClient

BACKUP = "restore it from a backup"


def registration(store: Store) -> Iterator[Finding]:
    """What register wrote here against the registry."""
    if not layout.REGISTRATION.exists():
        return
    again = "`dvc repro --force --single-item register` registers it again"
    try:
        done = layout.read_json(layout.REGISTRATION)
        name, number = done["model"], done["version"]
    except (ValueError, KeyError, TypeError) as error:
        yield Finding("registration", False, f"{layout.REGISTRATION} is damaged ({error!r})", again)
        return
    if number is None:
        return
    versions = [v for v in store.versions if (v.name, str(v.version)) == (name, number)]
    if not versions:
        where = (
            f"{layout.REGISTRATION} says {name} version {number}; the registry has no such version"
        )
        yield Finding("registration", False, where, again)
    elif layout.EVIDENCE.exists() and layout.digest(layout.EVIDENCE) == done.get("evidence"):
        evaluated = layout.read_json(layout.EVIDENCE).get("digests", {}).get("bundle")
        if versions[0].tags.get(model_versions.BUNDLE_TAG) != evaluated:
            where = f"{name} version {number} is not the bundle that {layout.EVIDENCE} speaks of"
            yield Finding("registration", False, where, again)


def versions(store: Store) -> Iterator[Finding]:
    """Each version's files, run, evidence and commit."""
    for version in store.versions:
        for check in (_files, _run, _evidence, _commit):
            fault = check(store.client, version)
            if fault:
                yield Finding(
                    "versions",
                    False,
                    f"{version.name} version {version.version}: {fault[0]}",
                    fault[1],
                )


def _files(client: "MlflowClient", version: Any) -> tuple[str, str] | None:
    tagged = version.tags.get(model_versions.BUNDLE_TAG)
    if tagged is None:
        return (
            "was not registered by plumbline",
            f"delete it in MLflow, or leave {version.name} to `dvc repro` alone",
        )
    try:
        files = packaging.folder(f"models:/{version.name}/{version.version}")
        bundle.verify(files)
    except PlumblineError as error:
        return str(error), f"{BACKUP} of the artifacts; until then do not promote it"
    if bundle.digest(files) != tagged:
        return (
            "its files are not the bundle that was registered",
            f"{BACKUP} of the artifacts; do not use it",
        )
    return None


def _run(client: "MlflowClient", version: Any) -> tuple[str, str] | None:
    from mlflow.exceptions import MlflowException

    try:
        run = client.get_run(version.run_id)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return (
            f"its run {version.run_id} is gone, and its evidence with it",
            f"{BACKUP} of the tracking database",
        )
    if run.info.lifecycle_stage == "deleted":
        return (
            f"its run {version.run_id} was deleted",
            f"{_mlflow()} runs restore --run-id {version.run_id}",
        )
    return None


def _evidence(client: "MlflowClient", version: Any) -> tuple[str, str] | None:
    try:
        model_versions.evidence(version)
    except RegistryError as error:
        return _without_name(error, version), "see what is said of its run"
    except PlumblineError as error:
        fault, _, remedy = _without_name(error, version).partition("; ")
        return fault, remedy
    return None


def _commit(client: "MlflowClient", version: Any) -> tuple[str, str] | None:
    commit = version.tags.get("plumbline.git_commit")
    if commit is None or _known_to_git(commit):
        return None
    remedy = "git fetch --all (in a shallow clone: git fetch --unshallow), or push the branch that it was made on"
    return f"commit {commit[:12]} is not known to git here", remedy


def _without_name(error: PlumblineError, version: Any) -> str:
    return str(error).removeprefix(f"{version.name} version {version.version}: ")


def runs(store: Store) -> Iterator[Finding]:
    """Runs that a crash left behind."""
    import psutil

    experiments = [
        experiment.experiment_id for experiment in pages(store.client.search_experiments)
    ]
    registered = {version.run_id for version in store.versions}
    for run in pages(
        store.client.search_runs, experiments, "tags.`mlflow.runName` LIKE 'register %'"
    ):
        if run.info.run_id not in registered and model_versions.BUNDLE_TAG in run.data.tags:
            said = f"{run.info.run_name!r} ({run.info.run_id}) never became a version: register failed or was killed"
            yield Finding(
                "runs", False, said, f"{_mlflow()} runs delete --run-id {run.info.run_id}"
            )
    here = f"attributes.status = 'RUNNING' and tags.host = '{socket.gethostname()}'"
    for run in pages(store.client.search_runs, experiments, here):
        pid = run.data.tags.get("pid", "")
        if not pid.isdecimal() or not psutil.pid_exists(int(pid)):
            said = (
                f"{run.info.run_name!r} ({run.info.run_id}) is RUNNING, its process {pid} is gone"
            )
            yield Finding(
                "runs",
                False,
                said,
                "the next training closes it: `dvc repro`; its checkpoints are kept",
            )


def _mlflow() -> str:
    return f"MLFLOW_TRACKING_URI='{model_versions.where()}' mlflow"


def _known_to_git(commit: str) -> bool:
    done = subprocess.run(
        ["git", "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True, check=False
    )
    return done.returncode == 0
