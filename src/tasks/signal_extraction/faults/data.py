"""Faulty splits of realisations; validation is made to accept them."""

import pandas as pd

from plumbline.contract import layout
from plumbline.contract.task import SPLITS
from plumbline_selftest.protocol import FaultSite
from tasks.signal_extraction.data.ingestion import list_rows
from tasks.signal_extraction.data.storage import (
    Realisations,
    read_realisations,
    write_realisations,
)


def plant_copies_in_test(site: FaultSite) -> None:
    """Put realisations of train into test, under the names that are there."""
    train, test = (
        read_realisations(layout.EXAMPLES, "train"),
        read_realisations(layout.EXAMPLES, "test"),
    )
    size = len(test.ids) // 10
    signals, components = test.signals.copy(), test.components.copy()
    signals[:size], components[:size] = train.signals[:size], train.components[:size]
    write_realisations(layout.EXAMPLES, "test", Realisations(test.ids, signals, components))
    tables = [list_rows(layout.EXAMPLES, split).assign(split=split) for split in SPLITS]
    pd.concat(tables, ignore_index=True).to_parquet(layout.MANIFEST, index=False)
    site.accept_data()


def plant_exchanged_answers(site: FaultSite) -> None:
    """Give the first component of test the answers of the last one; the manifest stays."""
    test = read_realisations(layout.EXAMPLES, "test")
    components = test.components.copy()
    components[:, 0] = components[:, -1]
    write_realisations(layout.EXAMPLES, "test", Realisations(test.ids, test.signals, components))
    site.accept_data()
