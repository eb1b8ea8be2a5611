"""No part outgrows its ceiling."""

from tests.support.budgets import list_grown
from tests.support.census import ROOT


def test_no_part_grows_beyond_its_ceiling() -> None:
    grown = list_grown(ROOT)
    assert not grown, f"take as much away as was added (tests/support/ceilings.json): {grown}"
