"""Rows of a checkout's examples, with their manifest: read, changed, answered."""

import pandas as pd

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.task import SPLITS
from plumbline.process.files import digest_path, read_json, write_json
from plumbline.sources.shard_writer import write_split
from plumbline.tasks.text_classification.data import list_rows, read_split
from plumbline_selftest.protocol import FaultSite

COPY = "copy:"  # before the id of a row that is there twice; a number may follow
# Which do not follow from the examples; only generated ones say which labels are not true.
FLAGS = ("decoded", "truncated", "noisy")


def read_rows(split: str) -> pd.DataFrame:
    """Read the examples of a split: columns id, text, label and metadata."""
    rows: pd.DataFrame = read_split(layout.EXAMPLES, split).to_pandas()
    return rows


def write_rows(split: str, rows: pd.DataFrame) -> None:
    """Replace the examples of a split; the manifest stays."""
    import pyarrow as pa

    write_split(layout.EXAMPLES, split, pa.Table.from_pandas(rows, preserve_index=False))


def accept_rows(site: FaultSite) -> None:
    """Derive the manifest from the examples as they are now, and make validation accept both."""
    renew_manifest()
    site.accept_data()


def renew_manifest() -> None:
    """Derive the manifest from the examples as they are now; flags are those that each row had."""
    before = pd.read_parquet(layout.MANIFEST).set_index("id")
    tables = [
        rows.assign(split=split) for split in SPLITS for rows in list_rows(layout.EXAMPLES, split)
    ]
    rows = pd.concat(tables, ignore_index=True)
    origins = rows["id"].str.replace(rf"^{COPY}(\d+:)?", "", regex=True)
    for flag in before.columns.intersection(list(FLAGS)):
        rows[flag] = before[flag].reindex(origins).to_numpy()
    rows.to_parquet(layout.MANIFEST, index=False)


def seal_source() -> None:
    """Write the digests of examples and manifest as they are now into source.json."""
    seal = {"digest": digest_path(layout.EXAMPLES), "manifest": digest_path(layout.MANIFEST)}
    write_json(layout.SOURCE, read_json(layout.SOURCE) | seal)


def add_copies(site: FaultSite, split: str, rows: pd.DataFrame) -> None:
    """Add `rows` of test, under other names, to a split and to the manifest."""
    copies = rows.assign(id=COPY + rows["id"])
    write_rows(split, pd.concat([read_rows(split), copies]))
    accept_rows(site)


def keep_test_rows(site: FaultSite, kept: pd.DataFrame) -> None:
    """Leave only `kept` in test and in its part of the manifest."""
    write_rows("test", kept)
    accept_rows(site)


def answer_rows(site: FaultSite, rows: pd.DataFrame) -> list[str]:
    """Return the label that the candidate gives to each of `rows`."""
    predictor = bundle.load(layout.locate_bundle(site.candidate))
    labels: list[str] = predictor.predict({"text": rows["text"].tolist()})["label"]
    return labels
