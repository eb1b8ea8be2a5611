"""The runs of MLflow that records become: found by a key, so that nothing is there twice."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.trainings import read_curve
from plumbline.process.files import digest_path
from plumbline.tracking import mlflow_client
from plumbline.tracking.batches import note_refusals, write_metrics, write_params
from plumbline.tracking.records import FAILED, FINISHED, KILLED, RUNNING, RunRecord

if TYPE_CHECKING:
    from mlflow import MlflowClient

KEY_TAG = "plumbline.run"
PASS_TAG = "plumbline.pass"  # noqa: S105  the tag that only the run of a pass has
PARENT_TAG = "mlflow.parentRunId"
NAME_TAG = "mlflow.runName"
VERDICT_TAG = "plumbline.verdict"
BUNDLE_TAG = "plumbline.bundle"
MAX_TAG = 5000  # characters


class RunWriter:
    """Writes one record to MLflow; written again, it changes nothing."""

    def __init__(self, client: "MlflowClient", record: RunRecord) -> None:
        self._client = client
        self._record = record
        self._experiment_id = mlflow_client.get_or_create_experiment(client, record.experiment)
        self._id = ""
        self._parent_id = ""

    def begin(self) -> str:
        """Return the id of the run, which is created where it is not there; raises as MLflow."""
        whole, record = self._record.whole, self._record
        self._parent_id = self._ensure(
            whole["key"],
            whole["name"],
            whole["started"],
            whole["tags"] | {PASS_TAG: whole["key"]},
        )
        tags = record.tags | {PARENT_TAG: self._parent_id}
        self._id = self._ensure(record.key, record.name, record.started, tags)
        return self._id

    def write(self) -> None:
        """Write all that the record says, and the run of its pass; raises what MLflow raises."""
        facts = self._record.facts
        self.begin()
        for key, value in self._record.tags.items():  # another process may go on with it
            self._client.set_tag(self._id, key, value[:MAX_TAG])
        self._client.set_tag(self._id, PARENT_TAG, self._parent_id)
        for key, value in facts.tags.items():
            self._client.set_tag(self._id, key, value[:MAX_TAG])
        write_params(self._client, self._id, facts.params)
        for curve in facts.curves:
            self._write_curve(Path(curve["path"]), curve["prefix"])
        if self._record.ended:
            self._write_results(self._record.ended)
        self._set_status()

    def _write_results(self, now: int) -> None:
        facts = self._record.facts
        write_metrics(self._client, self._id, facts.metrics, now)
        for dataset in facts.datasets:
            self._write_dataset(dataset)
        for entry in facts.files:
            self._write_file(Path(entry["path"]), entry["folder"])
        for model in facts.models:
            self._write_model(model, now)
        for digest, values in facts.model_metrics.items():
            self._write_model_metrics(digest, values, now)
        for key, value in facts.pass_tags.items():
            self._client.set_tag(self._parent_id, key, value)
        if VERDICT_TAG in facts.pass_tags:  # MLflow's list shows names, and hides tags
            name = f"{self._record.whole['name']}: {facts.pass_tags[VERDICT_TAG]}"
            self._client.set_tag(self._parent_id, NAME_TAG, name)
        write_metrics(self._client, self._parent_id, facts.pass_metrics, now)

    def _set_status(self) -> None:
        """Give the run its status, and its pass the worst of what is below it."""
        if self._record.ended:
            self._client.set_terminated(self._id, self._record.status, self._record.ended)
        else:
            self._client.update_run(self._id, status=RUNNING)
        settle_parent(self._client, self._experiment_id, self._parent_id, self._record.ended)

    def _ensure(self, key: str, name: str, started: int, tags: Mapping[str, str]) -> str:
        query = f"tags.`{KEY_TAG}` = '{key}'"
        page = self._client.search_runs([self._experiment_id], query, max_results=1)
        if page:
            return str(page[0].info.run_id)
        with mlflow_client.send_once():
            run = self._client.create_run(
                self._experiment_id, started, {**tags, KEY_TAG: key}, name
            )
        return str(run.info.run_id)

    def _write_curve(self, path: Path, prefix: str) -> None:
        """Write the epochs that are not there yet: a training that goes on repeats some."""
        if not self._is_as_recorded(path):
            return
        now = path.stat().st_mtime_ns // 1_000_000
        known: set[int] | None = None
        for epoch, values in read_curve(path):
            named = {prefix + name: value for name, value in values.items()}
            if known is None:
                history = self._client.get_metric_history(self._id, next(iter(named)))
                known = {point.step for point in history}
            if epoch not in known:
                write_metrics(self._client, self._id, named, now, epoch)

    def _is_as_recorded(self, path: Path) -> bool:
        """Whether a file is there, and none that a later run wrote in its place."""
        digest = self._record.digests.get(str(path))
        return path.exists() and (not self._record.ended or digest_path(path) == digest)

    def _write_file(self, path: Path, folder: str) -> None:
        if not self._is_as_recorded(path):
            return
        with note_refusals(self._client, self._id):
            if path.is_dir():
                target = f"{folder}/{path.name}".strip("/")
                self._client.log_artifacts(self._id, str(path), target)
            else:
                self._client.log_artifact(self._id, str(path), folder or None)

    def _write_dataset(self, facts: Mapping[str, Any]) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag

        names = ("name", "digest", "source_type", "source", "schema", "profile")
        dataset = Dataset(*(facts[name] for name in names))
        tags = [InputTag("mlflow.data.context", facts["context"])]
        with note_refusals(self._client, self._id):
            self._client.log_inputs(self._id, [DatasetInput(dataset, tags)])

    def _write_model(self, facts: Mapping[str, Any], now: int) -> None:
        """Create the model of a sealed bundle, with the metrics of its last epoch."""
        from mlflow.entities import LoggedModelOutput

        model = self._find_model(facts["digest"], self._id)
        if model is None:
            tags = {BUNDLE_TAG: facts["digest"], KEY_TAG: self._record.key}
            with mlflow_client.send_once():
                model = self._client.create_logged_model(
                    self._experiment_id, facts["name"], self._id, tags, facts["params"]
                )
        linked = self._client.get_run(self._id).outputs
        known = [each.model_id for each in linked.model_outputs] if linked else []
        if model.model_id not in known:  # MLflow refuses to link one twice
            with mlflow_client.send_once():
                self._client.log_outputs(self._id, [LoggedModelOutput(model.model_id, 0)])
        last = {f"last/{key}": value for key, value in facts["last"].items()}
        write_metrics(self._client, self._id, last, now, model_id=model.model_id)
        self._client.finalize_logged_model(model.model_id, "READY")

    def _write_model_metrics(self, digest: str, values: Mapping[str, float], now: int) -> None:
        """Write metrics to the model of a bundle, and to the run that trained it."""
        model = self._find_model(digest)
        if model is not None:
            write_metrics(self._client, model.source_run_id, values, now, model_id=model.model_id)

    def _find_model(self, digest: str, run_id: str | None = None) -> Any | None:
        """Find the newest model that train logged of a bundle; of `run_id`, if that is given."""
        query = f"tags.`{BUNDLE_TAG}` = '{digest}' AND tags.`{KEY_TAG}` != ''"
        if run_id:
            query += f" AND source_run_id = '{run_id}'"
        page = self._client.search_logged_models([self._experiment_id], query, max_results=1)
        return page[0] if page else None


def settle_parent(
    client: "MlflowClient", experiment_id: str, parent_id: str, ended: int | None
) -> None:
    """Give the run of a pass the worst status of the runs below it."""
    below = client.search_runs([experiment_id], f"tags.`{PARENT_TAG}` = '{parent_id}'")
    statuses = {run.info.status for run in below}
    if RUNNING in statuses:
        client.update_run(parent_id, status=RUNNING)
        return
    worst = next((status for status in (FAILED, KILLED) if status in statuses), FINISHED)
    client.set_terminated(parent_id, worst, ended)
