"""Faulty splits of specifications; validation is made to accept them."""

from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from plumbline.contract import layout
from plumbline.contract.task import SPLITS
from plumbline_selftest.protocol import FaultSite
from tasks.filter_design.data import (
    Specification,
    list_rows,
    read_specifications,
    write_specifications,
)

DECADE = 10.0


def plant_copies_in_test(site: FaultSite) -> None:
    """Put specifications of train in place of a tenth of test."""
    _replace_test(lambda one: one)
    site.accept_data()


def plant_decades_in_test(site: FaultSite) -> None:
    """Put specifications of train in place of a tenth of test, at ten times the impedance."""
    _replace_test(lambda one: replace(one, z0_ohm=DECADE * one.z0_ohm))
    site.accept_data()


def plant_easier_masks(site: FaultSite) -> None:
    """Ask every test row for 3 dB less attenuation; the manifest stays."""
    test = read_specifications(layout.EXAMPLES, "test")
    easier = [replace(one, min_attenuation_db=one.min_attenuation_db - 3) for one in test]
    write_specifications(layout.EXAMPLES, "test", easier)
    site.accept_data()


def _replace_test(change: Callable[[Specification], Specification]) -> None:
    train = read_specifications(layout.EXAMPLES, "train")
    test = read_specifications(layout.EXAMPLES, "test")
    size = min(len(test) // 10, len(train))
    copies = [change(one) for one in train[:size]]
    write_specifications(layout.EXAMPLES, "test", [*copies, *test[size:]])
    tables = [list_rows(layout.EXAMPLES, split).assign(split=split) for split in SPLITS]
    pd.concat(tables, ignore_index=True).to_parquet(layout.MANIFEST, index=False)
