"""Faulty splits of questions; validation is made to accept them."""

from plumbline.contract import layout
from plumbline.contract.faults import FaultSite
from plumbline.tasks.answer_consensus.data.storage import read_answers, write_answers


def plant_copies_in_test(site: FaultSite) -> None:
    """Put the questions of train into test, under the ids that are there."""
    train = read_answers(layout.EXAMPLES, "train")
    test = read_answers(layout.EXAMPLES, "test")
    size = len(test.ids) // 10
    for name in ("questions", "golds", "answers", "tokens"):
        getattr(test, name)[:size] = getattr(train, name)[:size]
    write_answers(layout.EXAMPLES, "test", test)
    site.accept_data()
