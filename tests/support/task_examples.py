"""Examples of a task on disk, as ingest writes them, and changed as a bad source would."""

from pathlib import Path
from typing import Any

import pandas as pd

from plumbline.contract import layout
from plumbline.contract.loading import load_task
from plumbline.contract.params import Params
from plumbline.contract.task import SPLITS, Task
from plumbline.process.files import digest_path, read_json, write_json


def write_examples(params: Params, folder: Path) -> Path:
    """Ingest into `folder`; the folder of examples."""
    examples = folder / "examples"
    examples.mkdir(parents=True)
    load_task(params.task).data.ingest(params, examples, folder / "manifest.parquet")
    return examples


def seal_changed_examples(task: Task[Any]) -> None:
    """Write a manifest and a seal that fit the examples as they are now."""
    tables = {split: task.data.list_rows(layout.EXAMPLES, split) for split in SPLITS}
    rows = [table.assign(split=split) for split, table in tables.items()]  # type: ignore[union-attr]  # whole
    pd.concat(rows, ignore_index=True).to_parquet(layout.MANIFEST, index=False)
    seal = {"digest": digest_path(layout.EXAMPLES), "manifest": digest_path(layout.MANIFEST)}
    write_json(layout.SOURCE, read_json(layout.SOURCE) | seal)
