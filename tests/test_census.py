"""No part outgrows its ceiling."""

from tests.support import census


def test_no_part_grows_beyond_its_ceiling() -> None:
    grown = census.list_grown()
    assert not grown, f"take as much away as was added (tests/support/ceilings.json): {grown}"
