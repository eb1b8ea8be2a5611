"""Faulty splits of sequences; validation is made to accept them."""

import pandas as pd

from plumbline.contract import layout
from plumbline.contract.task import SPLITS
from plumbline_selftest.protocol import FaultSite
from tasks.sequence_bayes.data import (
    list_rows,
    read_prior,
    read_sequences,
    read_strata,
    write_sequences,
)
from tasks.sequence_bayes.data.exact import compute_log_probability


def plant_copies_in_test(site: FaultSite) -> None:
    """Put the rarest sequences of train in place of a tenth of test."""
    prior = read_prior(layout.EXAMPLES)
    train = read_sequences(layout.EXAMPLES, "train")
    test = read_sequences(layout.EXAMPLES, "test").copy()
    rarest = compute_log_probability(prior, train).argsort()[: len(test) // 10]
    test[: len(rarest)] = train[rarest]
    write_sequences(layout.EXAMPLES, "test", test, read_strata(layout.EXAMPLES, "test"))
    tables = [list_rows(layout.EXAMPLES, split).assign(split=split) for split in SPLITS]
    pd.concat(tables, ignore_index=True).to_parquet(layout.MANIFEST, index=False)
    site.accept_data()


def plant_exchanged_symbols(site: FaultSite) -> None:
    """Exchange the last symbol, which is asked, of every test sequence; the manifest stays."""
    test = read_sequences(layout.EXAMPLES, "test").copy()
    test[:, -1] = 1 - test[:, -1]
    write_sequences(layout.EXAMPLES, "test", test, read_strata(layout.EXAMPLES, "test"))
    site.accept_data()
