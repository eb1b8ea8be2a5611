"""Bring what waits in the spool to MLflow: a run for each pass, below it one for each stage."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.process.files import digest_path
from plumbline.tracking import mlflow_client, spool, store_errors, store_location
from plumbline.tracking.abandoned_runs import close_abandoned_runs
from plumbline.tracking.batches import note_refusals, write_metrics
from plumbline.tracking.final_lock import is_lock_final
from plumbline.tracking.run_search import FOLDER_TAG, KEY_TAG, PROCESS_TAG, ensure_run
from plumbline.tracking.run_writer import RunWriter

if TYPE_CHECKING:
    from mlflow import MlflowClient

LOCK = "lock"
PASS_TAG = "plumbline.pass"  # noqa: S105  the tag that only the run of a pass has


@dataclass(frozen=True)
class DeliveryReport:
    """How much was brought to MLflow, and how much waits, with the reason."""

    num_runs: int
    num_waiting: int
    problem: str | None


def deliver() -> DeliveryReport:
    """Bring all that waits to MLflow; one process at a time does so.

    A pass that fails does not hold up the others: it waits, and the report has the first reason.
    """
    num_runs = 0
    problem = store_location.find_problem()
    with lock_delivery():
        for folder in spool.list_passes() if problem is None else ():
            num_delivered, failure = _try_pass(folder)
            num_runs += num_delivered
            problem = problem or failure
            if failure and store_location.find_problem():
                break  # nothing answers any more
        return DeliveryReport(num_runs, sum(map(_count_waiting, spool.list_passes())), problem)


def describe_waiting(report: DeliveryReport) -> str:
    """Describe what waits, why, and what to do."""
    runs = "1 run waits" if report.num_waiting == 1 else f"{report.num_waiting} runs wait"
    return (
        f"tracking: {runs} in {spool.FOLDER} ({report.problem}); "
        "the next run brings them to MLflow, or `plumbline track`"
    )


def has_work() -> bool:
    """Whether anything waits, or a stage is at work that may write more."""
    return any(_has_news(folder) or _is_alive(folder) for folder in spool.list_passes())


def is_waiting(root: Path) -> bool:
    """Whether anything waits that stages in the folder `root` logged."""
    return any(
        spool.read_record(folder / spool.PASS).get("folder") == str(root) and _count_waiting(folder)
        for folder in spool.list_passes()
    )


def has_live_stage() -> bool:
    """Whether a stage is at work."""
    return any(map(_is_alive, spool.list_passes()))


def assign_run_id(client: "MlflowClient", run: spool.SpooledRun) -> str:
    """Return the id that a run has in MLflow, where it is begun if it is not there yet.

    Raises what MLflow raises.
    """
    folder = run.folder.parent
    facts = spool.read_record(folder / spool.PASS)
    with lock_delivery():
        experiment_id = mlflow_client.get_or_create_experiment(client, facts["model"])
        parent_id = _ensure_parent(client, experiment_id, folder, facts)
        return RunWriter(client, experiment_id, run).begin(parent_id, facts["time"])


@contextmanager
def lock_delivery() -> Iterator[None]:
    """Hold a kernel lock, which ends with the process that delivers."""
    spool.locate_spool().mkdir(parents=True, exist_ok=True)
    with (spool.locate_spool() / LOCK).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _try_pass(folder: Path) -> tuple[int, str | None]:
    """Deliver one pass; return how many runs it brought, and why it failed, if it did."""
    if not _has_news(folder):
        return 0, None
    try:
        return _deliver_pass(mlflow_client.connect(), folder), None
    except Exception as error:
        if store_errors.is_store_error(error):
            return 0, store_errors.shorten_error(error)
        if isinstance(error, ValueError | LookupError | TypeError):
            return 0, f"{folder.name} is damaged: {type(error).__name__}"
        raise


def _deliver_pass(client: "MlflowClient", folder: Path, *, is_second: bool = False) -> int:
    """Write one pass; it is removed once it is over and MLflow has all of it.

    What the store does not have any more is written a second time. MlflowException if that fails.
    """
    from mlflow.exceptions import MlflowException

    facts = spool.read_record(folder / spool.PASS)
    if not facts:  # another process removed it
        return 0
    experiment_id = mlflow_client.get_or_create_experiment(client, facts["model"])
    # Read first: what is written to the pass after this is for the next delivery.
    closed = spool.read_record(folder / spool.CLOSED)
    num_before = _count_waiting(folder)
    if num_before:
        parent_id = _ensure_parent(client, experiment_id, folder, facts)
        statuses = []
        for run in spool.list_runs(folder):
            statuses.append(RunWriter(client, experiment_id, run).write(parent_id, facts["time"]))
        _describe_parent(client, parent_id, folder, statuses)
    if closed and not _count_waiting(folder):
        names = [path.name for path in spool.list_passes()]
        close_abandoned_runs(client, experiment_id, names)
        try:
            _finish_pass(client, experiment_id, folder, facts, closed)
        except MlflowException as error:
            if is_second or error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            # Its runs are in another store: MLFLOW_TRACKING_URI was changed, or the database is
            # gone since they were written.
            spool.forget_delivery(folder)
            return _deliver_pass(client, folder, is_second=True)
    return num_before


def _ensure_parent(
    client: "MlflowClient", experiment_id: str, folder: Path, facts: dict[str, Any]
) -> str:
    tags = facts["tags"] | {
        KEY_TAG: folder.name,
        PASS_TAG: folder.name,
        PROCESS_TAG: str(facts.get("process", "")),
        FOLDER_TAG: facts["folder"],
    }
    if facts["experiment"]:
        tags["plumbline.dvc_experiment"] = facts["experiment"]
    return ensure_run(client, experiment_id, facts["name"], facts["time"], tags)


def _describe_parent(
    client: "MlflowClient", parent_id: str, folder: Path, statuses: list[str]
) -> None:
    """Give the pass the figures that it is compared by, and the status of what ran last."""
    described = _list_written(folder)
    end = 0
    for run in spool.list_runs(folder):
        for event in run.read_events():
            end = max(end, event["time"])
            if event["kind"] == "pass":
                with note_refusals(client, parent_id):
                    _write_pass_facts(client, parent_id, event)
    if "RUNNING" in statuses:
        client.update_run(parent_id, status="RUNNING")
    else:
        worst = next((s for s in ("FAILED", "KILLED") if s in statuses), "FINISHED")
        client.set_terminated(parent_id, worst, end or None)
    spool.write_record(folder / spool.DESCRIBED, described)


def _write_pass_facts(client: "MlflowClient", parent_id: str, event: dict[str, Any]) -> None:
    for key, value in event["tags"].items():
        client.set_tag(parent_id, key, value)
    write_metrics(client, parent_id, event["metrics"], event["time"])


def _finish_pass(
    client: "MlflowClient",
    experiment_id: str,
    folder: Path,
    facts: dict[str, Any],
    closed: dict[str, Any],
) -> None:
    """Record the final dvc.lock, which DVC writes after the last stage, and remove the pass."""
    root = Path(facts["folder"])
    if facts["by_dvc"] and closed["complete"] and not is_lock_final(root, closed["time"]):
        return
    lock = root / "dvc.lock"
    if lock.exists():
        parent_id = _ensure_parent(client, experiment_id, folder, facts)
        digest = digest_path(lock)
        ids = [spool.read_record(run.folder / spool.DELIVERED) for run in spool.list_runs(folder)]
        for run_id in [parent_id, *(record["run_id"] for record in ids if record)]:
            client.set_tag(run_id, "plumbline.dvc_lock", digest)
    spool.remove_pass(folder)


def _count_waiting(folder: Path) -> int:
    """Count the runs of a pass that MLflow does not have as they are now, its own run among them.

    Its own run waits by itself where the process that delivers was stopped before it wrote that.
    """
    num_runs = sum(not _is_run_delivered(run) for run in spool.list_runs(folder))
    is_described = spool.read_record(folder / spool.DESCRIBED) == _list_written(folder)
    return num_runs or int(not is_described)


def _list_written(folder: Path) -> dict[str, list[Any]]:
    """List how far each run of a pass is written: its events, and its status."""
    written = {}
    for run in spool.list_runs(folder):
        record = spool.read_record(run.folder / spool.DELIVERED)
        written[run.folder.name] = [record.get("num_events"), record.get("status")]
    return written


def _is_run_delivered(run: spool.SpooledRun) -> bool:
    record = spool.read_record(run.folder / spool.DELIVERED)
    events = run.read_events()
    status = "RUNNING" if run.is_alive() else run.find_status() or "KILLED"
    return (record.get("num_events"), record.get("status")) == (len(events), status)


def _has_news(folder: Path) -> bool:
    """Whether MLflow has to hear of a pass: of what was logged, or that it is over."""
    return _count_waiting(folder) > 0 or (folder / spool.CLOSED).exists()


def _is_alive(folder: Path) -> bool:
    return any(run.is_alive() for run in spool.list_runs(folder))
