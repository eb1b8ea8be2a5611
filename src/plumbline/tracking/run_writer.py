"""One spooled run becomes one run of MLflow, however often its writer is killed."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from plumbline.tracking import spool
from plumbline.tracking.batches import note_refusals, write_metrics, write_params
from plumbline.tracking.learning_curve import draw_learning_curve
from plumbline.tracking.mlflow_client import send_once
from plumbline.tracking.run_search import (
    BUNDLE_TAG,
    FOLDER_TAG,
    KEY_TAG,
    OUTPUT_TAG,
    PARENT_TAG,
    PROCESS_TAG,
    ensure_run,
    find_model,
    format_key,
)
from plumbline.tracking.spool import SpooledRun

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModelOutput, Run


Event = Mapping[str, Any]


class RunWriter:
    """Writes the events of one spooled run to MLflow, from the first that is not there yet."""

    def __init__(self, client: "MlflowClient", experiment_id: str, run: SpooledRun) -> None:
        self._client = client
        self._experiment_id = experiment_id
        self._run = run
        self._record = spool.read_record(run.folder / spool.DELIVERED)
        self._id = ""
        self._seen: set[tuple[str, int]] = set()  # a training that goes on repeats some
        self._params: set[str] = set()
        self._kinds: dict[str, Callable[[Event], None]] = {
            "params": self._write_params,
            "metrics": self._write_metrics,
            "model metrics": self._write_model_metrics,
            "tags": self._write_tags,
            "artifact": self._write_artifact,
            "dataset": self._write_dataset,
            "model": self._write_model,
            "curve": self._draw_curve,
        }

    def write(self, parent_id: str, start_ms: int) -> str:
        """Write what is new, with the status that the run has now, and return that status.

        Raises what MLflow raises; called again, it goes on from there and writes nothing twice.
        """
        events = self._run.read_events()
        # A run that is alive may write its end now, which a look after this one would miss.
        status = self._run.find_status() if not self._run.is_alive() else "RUNNING"
        status = status or "KILLED"
        self.begin(parent_id, start_ms)
        num_done = int(self._record.get("num_events", 0))
        for number, event in enumerate(events):
            self._write_event(event, is_new=number >= num_done)
        self._finish(events, status)
        return status

    def begin(self, parent_id: str, start_ms: int) -> str:
        """Return the id of the run in MLflow, which is created if it is not there.

        A run that somebody deleted is not there: all of it is written again, to a new one.
        """
        run = self._find_recorded()
        if run is None:
            self._record = {}
            self._id = self._create(parent_id, start_ms)
            return self._id
        self._id = str(run.info.run_id)
        # The run of its pass was deleted, or another process continued it.
        tags = {PARENT_TAG: parent_id, PROCESS_TAG: str(self._run.describe().get("process", ""))}
        for key, value in tags.items():
            if run.data.tags.get(key, "") != value:
                self._client.set_tag(self._id, key, value)
        return self._id

    def _find_recorded(self) -> "Run | None":
        from mlflow.exceptions import MlflowException

        if "run_id" not in self._record:
            return None
        try:
            run = self._client.get_run(self._record["run_id"])
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return None
        return None if run.info.lifecycle_stage == "deleted" else run

    def _create(self, parent_id: str, start_ms: int) -> str:
        facts = self._run.describe()
        tags = {
            PARENT_TAG: parent_id,
            KEY_TAG: format_key(self._run.folder),
            "plumbline.stage": facts["stage"],
            PROCESS_TAG: str(facts.get("process", "")),
            FOLDER_TAG: spool.read_record(self._run.folder.parent / spool.PASS)["folder"],
        }
        if facts["candidate"]:
            tags["plumbline.candidate"] = facts["candidate"]
        name = facts["name"]
        if facts.get("restored"):
            name += " (restored)"
            tags |= self._describe_restored(facts)
        events = self._run.read_events()
        start = events[0]["time"] if events else start_ms
        self._record["run_id"] = ensure_run(self._client, self._experiment_id, name, start, tags)
        spool.write_record(self._run.folder / spool.DELIVERED, self._record)
        return str(self._record["run_id"])

    def _describe_restored(self, facts: Mapping[str, Any]) -> dict[str, str]:
        """Link to the run that computed what this pass took from DVC's cache."""
        tags = {"plumbline.restored": "true"}
        query = f"tags.`{OUTPUT_TAG}` = '{facts['output']}' and tags.`plumbline.stage` = "
        page = self._client.search_runs(
            [self._experiment_id], f"{query}'{facts['stage']}'", max_results=1
        )
        note = "This stage did not run: DVC had its output. No run here computed it."
        if page:
            origin = page[0].info.run_id
            link = f"#/experiments/{self._experiment_id}/runs/{origin}"
            note = f"This stage did not run: DVC had its output, which [{origin}]({link}) computed."
            tags["plumbline.computed_by"] = origin
        return tags | {"mlflow.note.content": note}

    def _write_event(self, event: Event, is_new: bool) -> None:
        """Write one event; of an old one only remember what must not be written twice."""
        if event["kind"] == "metrics":
            event = self._drop_repeated_metrics(event)
        elif event["kind"] == "params":
            event = self._drop_repeated_params(event)
        write = self._kinds.get(event["kind"])
        if not is_new or write is None:
            return
        with note_refusals(self._client, self._id):
            write(event)

    def _drop_repeated_metrics(self, event: Event) -> Event:
        values = {}
        for key, value in event["values"].items():
            place = (key, event["step"])
            if place not in self._seen:
                values[key] = value
            self._seen.add(place)
        return {**event, "values": values}

    def _drop_repeated_params(self, event: Event) -> Event:
        values = {key: v for key, v in event["values"].items() if key not in self._params}
        self._params |= values.keys()
        return {**event, "values": values}

    def _write_params(self, event: Event) -> None:
        write_params(self._client, self._id, event["values"])

    def _write_metrics(self, event: Event) -> None:
        write_metrics(self._client, self._id, event["values"], event["time"], event["step"])

    def _write_model_metrics(self, event: Event) -> None:
        """Write metrics to the model of a bundle, and to the run that trained it."""
        model = find_model(self._client, self._experiment_id, event["digest"])
        if model is not None:
            run_id, model_id = model.source_run_id, model.model_id
            write_metrics(self._client, run_id, event["values"], event["time"], model_id=model_id)

    def _write_tags(self, event: Event) -> None:
        for key, value in event["values"].items():
            self._client.set_tag(self._id, key, value[:5000])

    def _write_artifact(self, event: Event) -> None:
        path = self._run.folder / event["path"]
        folder = event["folder"] or None
        if path.is_dir():
            self._client.log_artifacts(
                self._id, str(path), f"{folder or ''}/{path.name}".strip("/")
            )
        else:
            self._client.log_artifact(self._id, str(path), folder)

    def _write_dataset(self, event: Event) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag

        names = ("name", "digest", "source_type", "source", "schema", "profile")
        dataset = Dataset(*(event[name] for name in names))
        tags = [InputTag("mlflow.data.context", event["context"])]
        self._client.log_inputs(self._id, [DatasetInput(dataset, tags)])

    def _write_model(self, event: Event) -> None:
        """Create the model of this run, with the metrics of its last epoch."""
        from mlflow.entities import LoggedModelOutput

        model = find_model(self._client, self._experiment_id, event["digest"], self._id)
        if model is None:
            tags = {BUNDLE_TAG: event["digest"], KEY_TAG: format_key(self._run.folder)}
            params = dict(event["params"])
            with send_once():
                model = self._client.create_logged_model(
                    self._experiment_id, event["name"], self._id, tags, params
                )
        self._link_model(LoggedModelOutput(model.model_id, 0))
        last = self._find_last_metrics(event.get("prefix", ""))
        values = {f"last/{key}": value for key, value in last.items()}
        write_metrics(self._client, self._id, values, event["time"], model_id=model.model_id)
        self._client.finalize_logged_model(model.model_id, "READY")

    def _link_model(self, output: "LoggedModelOutput") -> None:
        """Let the run name the model as its output; MLflow refuses to write that twice."""
        linked = self._client.get_run(self._id).outputs
        known = [each.model_id for each in linked.model_outputs] if linked else []
        if output.model_id not in known:
            with send_once():
                self._client.log_outputs(self._id, [output])

    def _find_last_metrics(self, prefix: str) -> dict[str, float]:
        """Return the last value of each metric whose name begins with `prefix`, without that.

        Those of the bundle are left out, and without a prefix those of further seeds.
        """
        values: dict[str, float] = {}
        for event in self._run.read_events():
            if event["kind"] == "metrics":
                values |= event["values"]
        own = {key[len(prefix) :]: values[key] for key in values if key.startswith(prefix)}
        return {key: own[key] for key in own if not key.startswith(("bundle/", "seed/"))}

    def _draw_curve(self, event: Event) -> None:
        figure = draw_learning_curve(self._run.read_events())
        if figure is not None:
            self._client.log_figure(self._id, figure, "learning_curve.svg")

    def _finish(self, events: list[dict[str, Any]], status: str) -> None:
        """Give the run its status, and remember how far it is written."""
        if self._record.get("status") != status:
            if status == "RUNNING":
                self._client.update_run(self._id, status="RUNNING")
            else:
                end = events[-1]["time"] if events else None
                self._client.set_terminated(self._id, status, end)
        self._record |= {"num_events": len(events), "status": status}
        spool.write_record(self._run.folder / spool.DELIVERED, self._record)
