"""What specifications must be before a model may learn from them, and whether they leak."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check, Leak
from plumbline.contract.task import SPLITS
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.split_rows import count_leaks, find_earlier_splits, gather_rows
from tasks.filter_design.data import list_rows
from tasks.filter_design.data.specifications import Specification
from tasks.filter_design.data.storage import read_specifications
from tasks.filter_design.params import FilterParams

if TYPE_CHECKING:
    import pandas as pd

NEAR = math.log(1.01)  # two specifications are nearly equal if all numbers differ by less than 1 %


def build_table(
    params: FilterParams, examples: Path, manifest: Manifest, facts: Mapping[str, Any]
) -> "pd.DataFrame":
    """Return the manifest with two more columns.

    `also_in` is an earlier split with the same specification; `impossible`, the share of its split
    that no ladder can meet.
    """
    rows = manifest.read()
    is_impossible = (rows["slack_db"] < 0).astype(float)
    return rows.assign(
        also_in=find_earlier_splits(rows, "digest"),
        impossible=is_impossible.groupby(rows["split"]).transform("mean"),
    )


def build_checks(params: FilterParams, table: "pd.DataFrame") -> list[Check]:
    """Return the suite for a table of `build_table`; every check blocks."""
    limit = params.validation.max_impossible
    return [
        Check(
            "impossible",
            expect("expect_column_values_to_be_between", column="impossible", max_value=limit),
            "blocking",
            "Few enough masks are beyond what any ladder can meet",
            "lower data.generated.impossible, ask for less in the file, or raise "
            "validation.max_impossible",
        ),
        Check(
            "repeats",
            expect("expect_column_values_to_be_null", column="also_in"),
            "blocking",
            "No specification of a held-out split is in an earlier one",
            "rows were copied between splits; run `dvc repro --force ingest`",
        ),
    ]


def find_leaks(params: FilterParams, examples: Path) -> list[Leak]:
    """Count held-out specifications that an earlier split has, exactly or nearly."""
    rows = gather_rows(list_rows, examples)
    exact = find_earlier_splits(rows, "digest")
    near = _find_neighbours(rows, examples).where(exact.isna())
    return count_leaks(rows, {"exact": exact, "near": near})


def _find_neighbours(rows: "pd.DataFrame", examples: Path) -> "pd.Series":
    """Return for each row the id of an earlier split's row that is nearly the same, or None.

    Rows are compared that agree in what is not a number: kind, order and series.
    """
    import pandas as pd
    from scipy.spatial import cKDTree

    specifications = [one for split in SPLITS for one in read_specifications(examples, split)]
    groups = pd.Series([f"{one.kind} {one.order} {one.series}" for one in specifications])
    neighbours = pd.Series(None, index=rows.index, dtype=object)
    for _, group in rows.groupby(groups):
        numbers = np.stack([_list_numbers(specifications[place]) for place in group.index])
        for number, split in enumerate(SPLITS):
            is_own = (group["split"] == split).to_numpy()
            is_before = group["split"].isin(SPLITS[:number]).to_numpy()
            if is_own.any() and is_before.any():
                tree = cKDTree(numbers[is_before])
                distances, places = tree.query(numbers[is_own], p=np.inf)
                names = group["id"][is_before].to_numpy()[places]
                neighbours[group.index[is_own]] = np.where(distances < NEAR, names, None)
    return neighbours


def _list_numbers(one: Specification) -> np.ndarray:
    """Return the logarithms of all numbers."""
    losses = [one.max_loss_db, one.min_attenuation_db, one.q_inductor, one.q_capacitor]
    return np.log([*one.pass_hz, *one.stop_hz, one.z0_ohm, *losses])
