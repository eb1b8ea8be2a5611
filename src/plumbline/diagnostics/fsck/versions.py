"""Versions compared with their files, runs and commits; runs with versions and processes."""

import socket
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError, RegistryError
from plumbline.diagnostics.fsck.recorded_outputs import DVC_LOCK
from plumbline.diagnostics.fsck.registry_state import RegistryState, list_all
from plumbline.diagnostics.result import DiagnosticResult
from plumbline.process.files import digest_path, read_json
from plumbline.process.lineage import INPUTS, run_git
from plumbline.registry.reader import OpenVersion, addresses, find_version, open_version
from plumbline.registry.reader.artifacts import MissingArtifactError
from plumbline.registry.reader.run_files import fetch_recorded_file, read_evidence
from plumbline.tracking.delivery import is_of_this_checkout
from plumbline.tracking.processes import is_running
from plumbline.tracking.records import FOLDER_TAG, PROCESS_TAG
from plumbline.tracking.runs import PASS_TAG

if TYPE_CHECKING:
    from mlflow import MlflowClient

# What lies beside a version, and its evidence has the digest of.
RECORDS = (layout.REPORT, layout.PARAMS, layout.MANIFEST, layout.DRIFT_REFERENCE)
# Tags of a version and of its run. That of dvc.lock is known to the run alone.
LINEAGE_NAMES = (*(name for name in INPUTS if name != "dvc_lock"), "git_commit", "git_dirty")
BACKUP = "restore it from a backup"
WHEN_IT_ANSWERS = "run fsck again when the store can be read: nothing shows that it is damaged"
REGISTER_AGAIN = "`dvc repro --force --single-item register` registers it again"
RECORD_AGAIN = "`dvc repro --force --single-item register` records what follows from the evidence"


def check_registration(state: RegistryState) -> Iterator[DiagnosticResult]:
    """What register wrote here compared with the registry and the journal."""
    if not DVC_LOCK.exists() and state.versions:
        last = state.versions[-1]
        message = f"no dvc.lock here, and the registry has {last.name} version {last.version}"
        remedy = "`git checkout dvc.lock`; or nothing, if other checkouts registered them all"
        yield DiagnosticResult("registration", True, message, remedy)
    if not layout.REGISTRATION.exists():
        return
    try:
        done = read_json(layout.REGISTRATION)
        name, number = done["model"], done["version"]
    except (ValueError, KeyError, TypeError) as error:
        message = f"{layout.REGISTRATION} is damaged ({error!r})"
        yield DiagnosticResult("registration", False, message, REGISTER_AGAIN)
        return
    if number is None:
        yield from _check_unregistered(state, done)
        return
    bundles = state.list_bundles()
    if (name, number) not in list(bundles):  # a damaged file may hold what has no hash
        message = (
            f"{layout.REGISTRATION} says {name} version {number}; the registry has no such version"
        )
        yield DiagnosticResult("registration", False, message, REGISTER_AGAIN)
    elif layout.EVIDENCE.exists() and digest_path(layout.EVIDENCE) == done.get("evidence"):
        evaluated = read_json(layout.EVIDENCE).get("digests", {}).get("bundle")
        if bundles[name, number] != evaluated:
            message = f"{name} version {number} has another bundle than {layout.EVIDENCE} evaluated"
            yield DiagnosticResult("registration", False, message, REGISTER_AGAIN)


def _check_unregistered(
    state: RegistryState, done: Mapping[str, Any]
) -> Iterator[DiagnosticResult]:
    """Compare a record that says that nothing was registered with journal and registry.

    `register` writes one for a refusal, and inside an experiment of DVC.
    """
    name, evidence = done["model"], done.get("evidence")
    if done.get("verdict") == "refuse":
        refused = [
            (entry.model, entry.evidence) for entry in state.entries if entry.action == "refuse"
        ]
        if (name, evidence) not in refused:
            message = f"{layout.REGISTRATION} says that {name} was refused; the journal does not"
            yield DiagnosticResult("registration", False, message, RECORD_AGAIN)
        return
    for version in state.versions:
        if (version.name, version.tags.get(addresses.EVIDENCE_TAG)) == (name, evidence):
            message = (
                f"{layout.REGISTRATION} says that nothing was registered; the registry has "
                f"{name} version {version.version} with this evidence"
            )
            yield DiagnosticResult("registration", False, message, REGISTER_AGAIN)


def check_versions(state: RegistryState) -> Iterator[DiagnosticResult]:
    """Each version's files, run, evidence and commit."""
    for version in state.versions:
        for check in (_check_files, _check_run, _check_evidence, _check_lineage, _check_commit):
            fault = check(state.client, version)
            if fault:
                message, remedy = fault
                title = f"{version.name} version {version.version}"
                yield DiagnosticResult("versions", False, f"{title}: {message}", remedy)


def check_runs(state: RegistryState) -> Iterator[DiagnosticResult]:
    """Runs that a crash left behind."""
    experiments = [e.experiment_id for e in list_all(state.client.search_experiments)]
    yield from _find_unregistered_runs(state, experiments)
    yield from _find_dead_runs(state, experiments)


def _find_unregistered_runs(
    state: RegistryState, experiments: list[str]
) -> Iterator[DiagnosticResult]:
    registered = {version.run_id for version in state.versions}
    query = "tags.`mlflow.runName` LIKE 'register%'"
    for run in list_all(state.client.search_runs, experiments, query):
        run_id = run.info.run_id
        if run_id not in registered and addresses.BUNDLE_TAG in run.data.tags:
            message = (
                f"{run.info.run_name!r} ({run_id}) never became a version: "
                "register failed or was killed"
            )
            remedy = f"{_format_mlflow_command()} runs delete --run-id {run_id}"
            yield DiagnosticResult("runs", False, message, remedy)


def _find_dead_runs(state: RegistryState, experiments: list[str]) -> Iterator[DiagnosticResult]:
    """Runs of this machine that are marked as running and whose process does not exist."""
    query = f"attributes.status = 'RUNNING' and tags.host = '{socket.gethostname()}'"
    for run in list_all(state.client.search_runs, experiments, query):
        is_whole_pass = PASS_TAG in run.data.tags  # which ends with the runs below it
        if not is_whole_pass and not is_running(run.data.tags.get(PROCESS_TAG, "")):
            yield _report_dead_run(run)


def _report_dead_run(run: Any) -> DiagnosticResult:
    """Say who closes it: its own checkout, no other.

    Of another checkout it is a warning: its process may be alive in a container.
    """
    folder = run.data.tags.get(FOLDER_TAG, "")
    is_own = is_of_this_checkout(folder)
    remedy = f"{_format_mlflow_command()} runs delete --run-id {run.info.run_id}"
    if is_own:
        remedy = "`plumbline track` closes it, as does the next run; its checkpoints are kept"
    elif folder:
        remedy = f"`plumbline track` in {folder} closes it; if that folder is gone: {remedy}"
    process = run.data.tags.get(PROCESS_TAG, "").partition(" ")[0]
    message = (
        f"{run.info.run_name!r} ({run.info.run_id}) is RUNNING, its process {process} "
        "does not exist"
    )
    return DiagnosticResult("runs", bool(folder) and not is_own, message, remedy)


# Each of these gives None, or a fault and its remedy.


def _check_files(client: "MlflowClient", version: Any) -> tuple[str, str] | None:
    tagged = version.tags.get(addresses.BUNDLE_TAG)
    if tagged is None:
        remedy = f"delete it in MLflow, or let only `dvc repro` register in {version.name}"
        return "was not registered by plumbline", remedy
    try:
        with open_version(f"models:/{version.name}/{version.version}", "fsck") as opened:
            return _check_signature(opened, version)
    except PlumblineError as error:
        if _is_unreachable(error):
            return str(error), WHEN_IT_ANSWERS
        return str(error), f"{BACKUP} of the artifacts; until then do not promote it"


def _check_signature(opened: OpenVersion, version: Any) -> tuple[str, str] | None:
    try:
        opened.require_signature()
    except PlumblineError as error:
        remedy = f"`plumbline sign {version.name} {version.version} --key KEY`, or do not use it"
        return _strip_version(error, version), remedy
    return None


def _check_run(client: "MlflowClient", version: Any) -> tuple[str, str] | None:
    from mlflow.exceptions import MlflowException

    try:
        run = client.get_run(version.run_id)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        message = f"its run {version.run_id} does not exist, so neither does its evidence"
        return message, f"{BACKUP} of the tracking database"
    if run.info.lifecycle_stage == "deleted":
        remedy = f"{_format_mlflow_command()} runs restore --run-id {version.run_id}"
        return f"its run {version.run_id} was deleted", remedy
    return None


def _check_evidence(client: "MlflowClient", version: Any) -> tuple[str, str] | None:
    try:
        registered = find_version(f"models:/{version.name}/{version.version}")
    except RegistryError as error:
        return _strip_version(error, version), WHEN_IT_ANSWERS
    try:
        evidence = read_evidence(registered)
        with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
            for path in RECORDS:
                fetch_recorded_file(registered, evidence, path, Path(private))
    except RegistryError as error:
        remedy = "see the result for its run" if registered.run_files is None else WHEN_IT_ANSWERS
        if isinstance(error, MissingArtifactError):
            remedy = f"{BACKUP} of the artifacts"
        return _strip_version(error, version), remedy
    except PlumblineError as error:
        message, _, remedy = _strip_version(error, version).partition("; ")
        return message, remedy
    return None


def _check_lineage(client: "MlflowClient", version: Any) -> tuple[str, str] | None:
    """Compare the tags that say what a version was made from with those of its run."""
    from mlflow.exceptions import MlflowException

    try:
        run_tags = client.get_run(version.run_id).data.tags
    except MlflowException:  # see the result for its run
        return None
    for name in LINEAGE_NAMES:
        tag = f"plumbline.{name}"
        own, of_run = version.tags.get(tag), run_tags.get(tag)
        if own != of_run:
            message = f"mismatch of the tag {tag}: {own!r}, its run {version.run_id} has {of_run!r}"
            return message, f"{BACKUP} of the tracking database, or correct the one that is wrong"
    return None


def _check_commit(client: "MlflowClient", version: Any) -> tuple[str, str] | None:
    commit = version.tags.get("plumbline.git_commit")
    if commit is None or run_git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0:
        return None
    remedy = (
        "git fetch --all (in a shallow clone: git fetch --unshallow), "
        "or push the branch on which it was made"
    )
    return f"commit {commit[:12]} is not in this git repository", remedy


def _is_unreachable(error: PlumblineError) -> bool:
    """Whether the store could not be read: what it has may be sound."""
    return isinstance(error, RegistryError) and not isinstance(error, MissingArtifactError)


def _strip_version(error: PlumblineError, version: Any) -> str:
    """The message without the name of the version, which the result states itself."""
    return str(error).removeprefix(f"{version.name} version {version.version}: ")


def _format_mlflow_command() -> str:
    return f"MLFLOW_TRACKING_URI='{addresses.describe_registry()}' mlflow"
