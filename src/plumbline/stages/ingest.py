"""ingest: the source named in params becomes examples and one manifest row for each."""

from typing import Any

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.steps import announce
from plumbline.contract.task import Task
from plumbline.process.files import digest_path, publish, write_json
from plumbline.process.leftovers import make_aside_folder
from plumbline.sources.identities import check_recorded
from plumbline.tracking.dataset_facts import describe_dataset
from plumbline.tracking.records import FINISHED, RunFacts


def ingest(params: Params, task: Task[Params]) -> None:
    """Write data/examples/, data/manifest.parquet and data/source.json, or leave what was there."""
    check_recorded(params.list_sources())
    folder = layout.EXAMPLES.parent
    folder.mkdir(parents=True, exist_ok=True)
    with make_aside_folder(folder, "ingest") as aside:
        examples = aside / "examples"
        examples.mkdir()
        announce("reads the source and divides it into splits")
        facts = {"notices": []} | task.data.ingest(params, examples, aside / "manifest.parquet")
        publish(examples, layout.EXAMPLES)
        publish(aside / "manifest.parquet", layout.MANIFEST)
        seal = {"digest": digest_path(layout.EXAMPLES), "manifest": digest_path(layout.MANIFEST)}
        write_json(layout.SOURCE, facts | seal)


def describe_run(status: str, params: Params, task: Task[Params]) -> RunFacts:
    """Describe what was read, and what became of it."""
    facts = RunFacts(params={"data": _describe_data(params), "seed": params.seed})
    if status == FINISHED:
        facts.datasets.append(describe_dataset(task.name, "ingest"))
        facts.add_file(layout.SOURCE)
    return facts


def _describe_data(params: Params) -> dict[str, Any]:
    """Describe the data's parameters, but for pinned digests.

    The keys of these are addresses, which cannot name a parameter in MLflow.
    """
    return params.data.model_dump(mode="json", exclude={"sha256"})
