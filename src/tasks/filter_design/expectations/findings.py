"""The table that checks look at: the manifest, and beside each row what its numbers show."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.task import SPLITS
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.split_rows import find_earlier_splits
from tasks.filter_design.data import name_rows, read_specifications
from tasks.filter_design.data.specifications import find_refusal
from tasks.filter_design.params import FilterParams

if TYPE_CHECKING:
    import pandas as pd


def build_table(
    params: FilterParams, examples: Path, manifest: Manifest, facts: Mapping[str, Any]
) -> "pd.DataFrame":
    """Return the manifest with three more columns.

    `fault` is why the predictor would refuse the specification; `also_in`, an earlier split with
    the same one; `impossible`, the share of its split that no ladder can meet.
    """
    import pandas as pd

    rows = manifest.read()
    faults = _find_faults(examples)
    keys = list(zip(rows["split"], rows["id"], strict=True))
    is_impossible = (rows["slack_db"] < 0).astype(float)
    return rows.assign(
        fault=pd.Series([faults.get(key) for key in keys], index=rows.index, dtype=object),
        also_in=find_earlier_splits(rows, "digest"),
        impossible=is_impossible.groupby(rows["split"]).transform("mean"),
    )


def _find_faults(examples: Path) -> dict[tuple[str, str], str]:
    """Ask the predictor's own reader about each row."""
    faults: dict[tuple[str, str], str] = {}
    for split in SPLITS:
        specifications = read_specifications(examples, split)
        names = name_rows(split, len(specifications))
        for name, specification in zip(names, specifications, strict=True):
            refusal = find_refusal(specification)
            if refusal:
                faults[split, name] = refusal
    return faults
