"""ingest: the source named in params becomes examples and one manifest row for each."""

import shutil
import tempfile
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import Task


def ingest(params: Params, task: Task[Params]) -> None:
    """Write data/examples/, data/manifest.parquet and data/source.json, or leave what was there."""
    folder = layout.EXAMPLES.parent
    folder.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".ingest.", dir=folder))
    try:
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
    finally:
        shutil.rmtree(aside, ignore_errors=True)
