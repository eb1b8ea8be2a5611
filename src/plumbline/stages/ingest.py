"""ingest: the source named in params becomes examples and one manifest row for each."""

from typing import Any

from plumbline.contract import layout
from plumbline.contract.leftovers import make_aside_folder
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.sources.identities import check_recorded, show_source
from plumbline.tracking import run_log


def ingest(params: Params, task: Task[Params]) -> None:
    """Write data/examples/, data/manifest.parquet and data/source.json, or leave what was there."""
    with run_log.track_run(params, "ingest") as log:
        log.log_params({"data": _describe_data(params), "seed": params.seed})
        _write_examples(params, task)
        log.log_dataset(task.name, "ingest")
        log.log_artifact(layout.SOURCE)


def _describe_data(params: Params) -> dict[str, Any]:
    """Describe the data's parameters as MLflow may show them: no secrets of an address.

    Pinned digests are left out: their keys are addresses, which cannot name a parameter there.
    """
    shown = {key: v for key, v in params.data.model_dump(mode="json").items() if key != "sha256"}
    described: dict[str, Any] = _hide_secrets(shown)
    return described


def _hide_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _hide_secrets(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_hide_secrets(each) for each in value]
    return show_source(value) if isinstance(value, str) else value


def _write_examples(params: Params, task: Task[Params]) -> None:
    check_recorded(params.list_sources())
    folder = layout.EXAMPLES.parent
    folder.mkdir(parents=True, exist_ok=True)
    with make_aside_folder(folder, "ingest") as aside:
        examples = aside / "examples"
        examples.mkdir()
        facts = {"notices": []} | task.data.ingest(params, examples, aside / "manifest.parquet")
        layout.publish(examples, layout.EXAMPLES)
        layout.publish(aside / "manifest.parquet", layout.MANIFEST)
        seal = {
            "digest": layout.digest(layout.EXAMPLES),
            "manifest": layout.digest(layout.MANIFEST),
        }
        layout.write_json(layout.SOURCE, facts | seal)
