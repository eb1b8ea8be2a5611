"""Faulty splits of realisations; validation is made to accept them."""

from plumbline.contract import layout
from plumbline.contract.faults import FaultSite
from plumbline.tasks.signal_extraction.data.storage import (
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
    site.accept_data()
