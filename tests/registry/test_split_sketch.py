"""Two splits that share rows are seen as such from a line of text."""

import pytest

from plumbline.registry.split_sketch import SIZE, build_sketch, estimate_share, parse_sketch


def rows(first: int, last: int) -> list[str]:
    return [f"row {number}" for number in range(first, last)]


@pytest.mark.parametrize("num_rows", [50, 2000, 20_000])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.9, 1.0])
def test_the_share_of_rows_is_estimated(num_rows: int, share: float) -> None:
    shift = num_rows - int(share * num_rows)
    new, old = build_sketch(rows(shift, shift + num_rows)), build_sketch(rows(0, num_rows))
    tolerance = 0.001 if num_rows <= SIZE else 0.08
    assert estimate_share(new, old) == pytest.approx(share, abs=tolerance)


def test_a_part_of_a_split_is_that_split_and_a_grown_one_is_it_in_part() -> None:
    part, whole = build_sketch(rows(0, 500)), build_sketch(rows(0, 5000))
    assert estimate_share(part, whole) == 1.0
    assert estimate_share(whole, part) == pytest.approx(0.1, abs=0.06)


def test_order_and_copies_change_nothing_and_text_keeps_it() -> None:
    sketch = build_sketch(rows(0, 1000))
    assert build_sketch([*reversed(rows(0, 1000)), "row 3"]) == sketch
    assert parse_sketch(str(sketch)) == sketch
    assert len(str(sketch)) < 2100


@pytest.mark.parametrize("text", ["", "5", "x rows:", "5 rows:***", "5 rows:AAA=", "20 uses"])
def test_other_text_is_no_sketch(text: str) -> None:
    assert parse_sketch(text) is None


def test_a_split_without_rows_shares_none() -> None:
    assert estimate_share(build_sketch([]), build_sketch(rows(0, 9))) == 0.0
