"""What MLflow shows of a data set: digest, source, schema and profile, without importing MLflow."""

import json
from collections import Counter
from typing import Any

from plumbline.contract import layout
from plumbline.contract.value_types import TYPES
from plumbline.process.files import digest_path, read_output
from plumbline.tables.manifest_file import Manifest

MAX_DIGEST = 36  # characters that every store can hold
COLUMN_TYPES = {value_type.arrow: name for name, value_type in TYPES.items()}  # all else is text


def describe_dataset(name: str, context: str) -> dict[str, Any]:
    """Describe data/manifest.parquet as the fields of an mlflow.data entity.

    `context` is what the data are for.
    """
    import pyarrow.parquet as pq

    columns = []
    for field in pq.read_schema(layout.MANIFEST):
        kind = COLUMN_TYPES.get(str(field.type), "string")
        columns.append({"type": kind, "name": field.name, "required": True})
    splits: Counter[str] = Counter()
    for batch in Manifest(layout.MANIFEST).read_batches(["split"]):
        splits.update(batch["split"].to_pylist())
    num_rows = sum(splits.values())
    profile = {"num_rows": num_rows, "num_elements": num_rows * len(columns)}
    return {
        "context": context,
        "name": name,
        "digest": digest_path(layout.MANIFEST)[:MAX_DIGEST],
        "source_type": "code",  # data/source.json describes any source, and nothing is loaded by it
        "source": _describe_source(),
        "schema": json.dumps({"mlflow_colspec": columns}),
        "profile": json.dumps(profile | {f"num_{split}": rows for split, rows in splits.items()}),
    }


def _describe_source() -> str:
    """Say which data/source.json it was, which is among the files of the run of ingest."""
    facts = read_output(layout.SOURCE, "ingest") if layout.SOURCE.exists() else {}
    return json.dumps({"tags": {key: facts[key] for key in ("digest", "manifest") if key in facts}})
