"""Rows of a checkout's examples, with their manifest: read, changed, answered."""

import pandas as pd

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.faults import FaultSite
from plumbline.tasks.text_classification.data import read_split


def read_rows(split: str) -> pd.DataFrame:
    """Read the examples of a split: columns id, text, label and metadata."""
    rows: pd.DataFrame = read_split(layout.EXAMPLES, split).to_pandas()
    return rows


def write_rows(split: str, rows: pd.DataFrame) -> None:
    """Replace the examples of a split; the manifest stays."""
    rows.to_parquet(layout.EXAMPLES / f"{split}.parquet", index=False)


def add_copies(site: FaultSite, split: str, rows: pd.DataFrame) -> None:
    """Add `rows` of test, under other names, to a split and to the manifest."""
    manifest = pd.read_parquet(layout.MANIFEST)
    entries = manifest.set_index("id").loc[rows["id"]].reset_index()
    copies = rows.assign(id="copy:" + rows["id"])
    entries = entries.assign(id=copies["id"].to_numpy(), split=split)
    write_rows(split, pd.concat([read_rows(split), copies]))
    pd.concat([manifest, entries]).to_parquet(layout.MANIFEST, index=False)
    site.accept_data()


def keep_test_rows(site: FaultSite, kept: pd.DataFrame) -> None:
    """Leave only `kept` in test and in its part of the manifest."""
    manifest = pd.read_parquet(layout.MANIFEST)
    remains = (manifest["split"] != "test") | manifest["id"].isin(kept["id"])
    write_rows("test", kept)
    manifest[remains].to_parquet(layout.MANIFEST, index=False)
    site.accept_data()


def answer_rows(site: FaultSite, rows: pd.DataFrame) -> list[str]:
    """Return the label that the candidate gives to each of `rows`."""
    predictor = bundle.load(layout.locate_bundle(site.candidate))
    labels: list[str] = predictor.predict({"text": rows["text"].tolist()})["label"]
    return labels
