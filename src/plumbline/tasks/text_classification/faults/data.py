"""Faulty splits of texts; validation is made to accept them."""

import pandas as pd

from plumbline import bundle
from plumbline.contract import layout
from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification.data import read_split
from plumbline_selftest.protocol import Fault, FaultSite

COPY_EVERY, DROP_EVERY = 10, 5


def plant_near_copies(site: FaultSite) -> None:
    """Put a tenth of the test texts, in capitals, in the place of texts of train."""
    train, test = _read("train"), _read("test")
    copied = test["text"].iloc[::COPY_EVERY].str.upper()
    train.loc[: len(copied) - 1, "text"] = copied.to_numpy()
    _write("train", train)
    site.renew_manifest()
    site.accept_data()


def plant_one_class(site: FaultSite) -> None:
    """Keep one class in test."""
    test = _read("test")
    _keep_test_rows(site, test[test["label"] == test["label"].iloc[0]])


def plant_dropped_rows(site: FaultSite) -> None:
    """Drop every fifth row of test, whatever the candidate answers."""
    test = _read("test")
    _keep_test_rows(site, test[test.index % DROP_EVERY > 0])
    site.edit_params("max_test_changes: 1.0", "max_test_changes: 0.1")


def plant_easy_rows(site: FaultSite) -> None:
    """Keep the test rows that the candidate answers rightly."""
    test = _read("test")
    predictor = bundle.load(layout.locate_bundle(site.candidate))
    answers = predictor.predict({"text": test["text"].tolist()})["label"]
    _keep_test_rows(site, test[test["label"] == answers])


def _read(split: str) -> pd.DataFrame:
    rows: pd.DataFrame = read_split(layout.EXAMPLES, split).to_pandas()
    return rows


def _write(split: str, rows: pd.DataFrame) -> None:
    import pyarrow as pa

    write_split(layout.EXAMPLES, split, pa.Table.from_pandas(rows, preserve_index=False))


def _keep_test_rows(site: FaultSite, kept: pd.DataFrame) -> None:
    """Leave only `kept` in test and in the manifest."""
    _write("test", kept)
    manifest = pd.read_parquet(layout.MANIFEST)
    is_kept = (manifest["split"] != "test") | manifest["id"].isin(kept["id"])
    manifest[is_kept].to_parquet(layout.MANIFEST, index=False)
    site.accept_data()


FAULTS = (
    Fault("a test split of one class", "coverage", "refuse", plant_one_class),
    Fault("test rows nearly copied into train", "leakage", "refuse", plant_near_copies),
    Fault("hard test rows left out", "consistency", "refuse", plant_easy_rows),
    Fault("a fifth of the test rows left out", "test_split", "refuse", plant_dropped_rows),
)
