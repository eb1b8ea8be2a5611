"""What windows must be before a model may learn from them, and whether they leak."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check, Leak
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.split_rows import count_leaks, find_earlier_splits, gather_rows
from tasks.signal_extraction.data import list_rows
from tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd


def build_table(
    params: SignalParams, examples: Path, manifest: Manifest, facts: Mapping[str, Any]
) -> "pd.DataFrame":
    """Return the manifest, and beside each row `seen_in`: an earlier split with its window."""
    rows = manifest.read()
    return rows.assign(seen_in=find_earlier_splits(rows, "digest"))


def build_checks(params: SignalParams, table: "pd.DataFrame") -> list[Check]:
    """Return the suite for a table of `build_table`; every check blocks."""
    most = params.validation.max_abs_signal
    return [
        Check(
            "finite",
            expect("expect_column_values_to_not_be_null", column="furthest"),
            "blocking",
            "No sample is missing",
            "run `dvc repro --force ingest`: a sample is NaN",
        ),
        Check(
            "range",
            expect("expect_column_values_to_be_between", column="furthest", max_value=most),
            "blocking",
            "Samples are in their range",
            "look at data.amplitude and data.noise, or raise validation.max_abs_signal",
        ),
        Check(
            "windows",
            expect("expect_column_values_to_be_null", column="seen_in"),
            "blocking",
            "No window of a held-out split is in an earlier one",
            "windows were copied between splits; run `dvc repro --force ingest`",
        ),
    ]


def find_leaks(params: SignalParams, examples: Path) -> list[Leak]:
    """Count held-out windows that an earlier split has, by their samples."""
    rows = gather_rows(list_rows, examples)
    return count_leaks(rows, {"exact": find_earlier_splits(rows, "digest")})
