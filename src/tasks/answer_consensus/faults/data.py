"""Faulty splits of questions; validation is made to accept them."""

import numpy as np
import pandas as pd

from plumbline.contract import layout
from plumbline.contract.task import SPLITS
from plumbline_selftest.protocol import FaultSite
from tasks.answer_consensus.data import list_rows
from tasks.answer_consensus.data.storage import read_answers, write_answers
from tasks.answer_consensus.data.tables import Answers


def plant_copies_in_test(site: FaultSite) -> None:
    """Put the questions of train into test, under the ids that are there."""
    train = read_answers(layout.EXAMPLES, "train")
    test = read_answers(layout.EXAMPLES, "test")
    size = len(test.ids) // 10
    for name in ("questions", "golds", "answers", "tokens"):
        getattr(test, name)[:size] = getattr(train, name)[:size]
    write_test(site, test)


def plant_shared_groups(site: FaultSite) -> None:
    """Give a tenth of test the groups of questions of train."""
    train, test = (read_answers(layout.EXAMPLES, split) for split in ("train", "test"))
    size = len(test.ids) // 10
    for answers in (train, test):
        answers.groups[:size] = [f"template {number}" for number in range(size)]
    write_answers(layout.EXAMPLES, "train", train)
    write_test(site, test)


def write_test(site: FaultSite, test: Answers) -> None:
    """Make `test` the test split, in the manifest too, and validation accept it."""
    write_answers(layout.EXAMPLES, "test", test)
    tables = [list_rows(layout.EXAMPLES, split).assign(split=split) for split in SPLITS]
    pd.concat(tables, ignore_index=True).to_parquet(layout.MANIFEST, index=False)
    site.accept_data()


def keep_test_rows(site: FaultSite, rows: np.ndarray) -> None:
    """Keep these questions of test, and no others."""
    write_test(site, read_answers(layout.EXAMPLES, "test").take(rows))
