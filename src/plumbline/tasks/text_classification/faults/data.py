"""Faulty splits of texts; validation is made to accept them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.faults import FaultSite
from plumbline.tasks.text_classification.data import read_split

if TYPE_CHECKING:
    import pandas as pd

COPY_EVERY = 10
ROWS_PER_LABEL = 2
DROP_EVERY = 5


def plant_copies_in_train(change: Callable[[str], str]) -> Callable[[FaultSite], None]:
    """Return what puts a tenth of the test texts, each changed, into train, and trains on them."""

    def plant(site: FaultSite) -> None:
        import pandas as pd

        test, manifest = _read_table("test"), pd.read_parquet(layout.MANIFEST)
        leaked = test.iloc[::COPY_EVERY].copy()
        rows = manifest.set_index("id").loc[leaked["id"]].reset_index()
        leaked["text"] = leaked["text"].map(change)
        leaked["id"] = "copy:" + leaked["id"]
        rows["id"], rows["split"] = leaked["id"].to_numpy(), "train"
        _write_table("train", pd.concat([_read_table("train"), leaked]))
        pd.concat([manifest, rows]).to_parquet(layout.MANIFEST, index=False)
        site.accept_data()
        site.retrain()

    return plant


def plant_own_answers(site: FaultSite) -> None:
    """Replace the labels of test by what the model answers."""
    test = _read_table("test")
    predictor = bundle.load(layout.locate_bundle(site.candidate))
    test["label"] = predictor.predict({"text": test["text"].tolist()})["label"]
    _write_table("test", test)


def plant_one_class(site: FaultSite) -> None:
    """Keep one class in test."""
    test = _read_table("test")
    _keep_test_rows(site, test[test["label"] == test["label"].iloc[0]])


def plant_few_rows(site: FaultSite) -> None:
    """Keep two rows of each class in test."""
    _keep_test_rows(site, _read_table("test").groupby("label").head(ROWS_PER_LABEL))
    site.edit_params("min_slice_rows: 30", f"min_slice_rows: {ROWS_PER_LABEL}")


def plant_dropped_rows(site: FaultSite) -> None:
    """Drop every fifth row of test, whatever the candidate answers."""
    test = _read_table("test")
    _keep_test_rows(site, test[test.index % DROP_EVERY > 0])
    site.edit_params("max_test_changes: 1.0", "max_test_changes: 0.1")


def _keep_test_rows(site: FaultSite, kept: "pd.DataFrame") -> None:
    import pandas as pd

    manifest = pd.read_parquet(layout.MANIFEST)
    remains = (manifest["split"] != "test") | manifest["id"].isin(kept["id"])
    _write_table("test", kept)
    manifest[remains].to_parquet(layout.MANIFEST, index=False)
    site.accept_data()


def _read_table(split: str) -> "pd.DataFrame":
    rows: pd.DataFrame = read_split(layout.EXAMPLES, split).to_pandas()
    return rows


def _write_table(split: str, rows: "pd.DataFrame") -> None:
    rows.to_parquet(layout.EXAMPLES / f"{split}.parquet", index=False)
