"""The runs of MLflow that records become: found by a key, so that nothing is there twice."""

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.process.files import digest_path
from plumbline.tracking import mlflow_client
from plumbline.tracking.records import RUNNING, RunRecord, read_clock_ms

if TYPE_CHECKING:
    from mlflow import MlflowClient

KEY_TAG = "plumbline.run"
PASS_TAG = "plumbline.pass"  # noqa: S105  the tag that only the run of a pass has
PARENT_TAG = "mlflow.parentRunId"
NAME_TAG = "mlflow.runName"
VERDICT_TAG = "plumbline.verdict"
SHARED = ("mlflow.", "plumbline.dvc_experiment")  # tags of a stage that its pass has too
# What no part of a name may hold or be; MLflow refuses a whole batch for one such name.
REFUSED = re.compile(r"[^\w\-. :]|^\.+$")
MAX_NAME, MAX_PARAM, MAX_TAG = 250, 6000, 5000  # characters
log = logging.getLogger(__name__)


class RunWriter:
    """Writes one record to the run `id`, which it begins; written again, it changes nothing."""

    def __init__(self, client: "MlflowClient", record: RunRecord) -> None:
        self._client = client
        self._record = record
        self._experiment_id = mlflow_client.get_or_create_experiment(client, record.experiment)
        shared = {key: value for key, value in record.tags.items() if key.startswith(SHARED)}
        shared[PASS_TAG] = record.pass_key
        began = record.started - 1  # so that it is before its first stage in a list
        self._pass_id = self._ensure(record.pass_key, record.pass_name, began, shared)
        tags = record.tags | {PARENT_TAG: self._pass_id}
        self.id = self._ensure(record.key, record.name, record.started, tags)

    def write(self) -> None:
        """Write all that the record says, and the run of its pass; raises what MLflow raises."""
        record, facts = self._record, self._record.facts
        now = record.ended or read_clock_ms()
        self._set_tags(self.id, record.tags | facts.tags | {PARENT_TAG: self._pass_id})
        self._write_params(facts.params)
        self._write_epochs(facts.epochs, now)
        write_metrics(self._client, self.id, facts.metrics, now)
        for dataset in facts.datasets:
            self._write_dataset(dataset)
        for file in facts.files:
            self._write_file(Path(file["path"]), file["folder"], file["digest"])
        tags = dict(facts.pass_tags)
        if VERDICT_TAG in tags:  # MLflow's list shows names, and hides tags
            tags[NAME_TAG] = f"{record.pass_name}: {tags[VERDICT_TAG]}"
        self._set_tags(self._pass_id, tags)
        write_metrics(self._client, self._pass_id, facts.pass_metrics, now)
        for run_id in (self.id, self._pass_id):  # the pass is as the last of its stages
            if record.status == RUNNING:
                self._client.update_run(run_id, RUNNING)
            else:
                self._client.set_terminated(run_id, record.status, now)

    def _ensure(self, key: str, name: str, started: int, tags: Mapping[str, str]) -> str:
        query = f"tags.`{KEY_TAG}` = '{key}'"
        page = self._client.search_runs([self._experiment_id], query, max_results=1)
        if page:
            return str(page[0].info.run_id)
        run = self._client.create_run(self._experiment_id, started, {**tags, KEY_TAG: key}, name)
        return str(run.info.run_id)

    def _set_tags(self, run_id: str, tags: Mapping[str, str]) -> None:
        from mlflow.entities import RunTag

        written = [RunTag(key, value[:MAX_TAG]) for key, value in tags.items()]
        self._client.log_batch(run_id, tags=written)

    def _write_params(self, values: Mapping[str, str]) -> None:
        """Write params, a long value cut off; MLflow changes none, so the first value stays."""
        from mlflow.entities import Param

        known = dict(self._client.get_run(self.id).data.params)
        new, changed = [], []
        for key, value in values.items():
            name, text = clean_name(key), value[:MAX_PARAM]
            if name not in known:
                known[name] = text
                new.append(Param(name, text))
            elif known[name] != text:
                changed.append(name)
        self._client.log_batch(self.id, params=new)
        if changed and self._record.status != RUNNING:
            names = ", ".join(changed)
            log.warning("%s: MLflow keeps the first value of %s", self._record.name, names)

    def _write_epochs(self, epochs: Sequence[tuple[int, Mapping[str, float]]], now: int) -> None:
        """Write the epochs that are not there yet: a training that goes on repeats some."""
        known: dict[str, set[int]] = {}
        for epoch, values in epochs:
            name = clean_name(next(iter(values)))
            if name not in known:
                history = self._client.get_metric_history(self.id, name)
                known[name] = {point.step for point in history}
            if epoch not in known[name]:
                write_metrics(self._client, self.id, values, now, epoch)

    def _write_file(self, path: Path, folder: str, digest: str) -> None:
        if path.exists() and digest_path(path) == digest:  # no later run wrote it
            self._client.log_artifact(self.id, str(path), folder or None)

    def _write_dataset(self, facts: Mapping[str, Any]) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag

        described = {key: value for key, value in facts.items() if key != "context"}
        tags = [InputTag("mlflow.data.context", facts["context"])]
        self._client.log_inputs(self.id, [DatasetInput(Dataset(**described), tags)])


def write_metrics(
    client: "MlflowClient",
    run_id: str,
    values: Mapping[str, float],
    time_ms: int,
    step: int = 0,
    model_id: str | None = None,
) -> None:
    """Write metrics to a run and, where it is named, to a model of MLflow."""
    from mlflow.entities import Metric

    metrics = []
    for key, value in values.items():
        metrics.append(Metric(clean_name(key), value, time_ms, step, model_id=model_id))
    client.log_batch(run_id, metrics=metrics)


def clean_name(name: str) -> str:
    """Return a name with `_` in place of what MLflow refuses, as in that of a class `C#`."""
    parts = name.split("/")
    return "/".join(REFUSED.sub("_", part) or "_" for part in parts)[:MAX_NAME].rstrip("/")
