"""Which side a row falls on, and that it never changes it."""

from collections import Counter

import pytest

from plumbline.contract.errors import DataError
from plumbline.tasks.text_classification.data import digest_text
from plumbline.tasks.text_classification.data.splits import find_point, plan_splits
from plumbline.tasks.text_classification.params import Split

BY_TEXT = Split(by="text", column=None, validation=0.15, test=0.2)
BY_GROUP = Split(by="group", column="customer", validation=0.15, test=0.2)
BY_TIME = Split(by="time", column="day", validation=0.15, test=0.2)


def no_days() -> list[tuple[str | None, str]]:
    raise AssertionError("a first pass is needed by time alone")


def test_shares_are_those_asked_for() -> None:
    assign = plan_splits(BY_TEXT, {None}, no_days)
    counts = Counter(assign(digest_text(f"text {number}"), None, "") for number in range(20_000))
    assert counts["test"] / 20_000 == pytest.approx(0.2, abs=0.01)
    assert counts["validation"] / 20_000 == pytest.approx(0.15, abs=0.01)


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("where is my parcel", "train"),
        ("wrong size", "train"),
        ("login", "validation"),
        ("kettle", "test"),
        ("tent", "test"),
    ],
)
def test_the_side_of_a_text_is_fixed_for_good(text: str, side: str) -> None:
    assert plan_splits(BY_TEXT, {None}, no_days)(digest_text(text), None, "") == side


def test_a_group_stays_together() -> None:
    assign = plan_splits(BY_GROUP, {None}, no_days)
    for customer in ("a", "b", "c"):
        assert len({assign(digest_text(str(number)), customer, "") for number in range(50)}) == 1
    assert len({assign("0" * 16, str(customer), "") for customer in range(50)}) == 3
    with pytest.raises(DataError, match=r"a\.csv:7: customer is empty"):
        assign("0" * 16, "", "a.csv:7")


def test_later_days_are_held_out_whole() -> None:
    days = [(f"2025-01-{day:02}T{hour:02}:00:00", "") for day in range(1, 21) for hour in range(24)]
    assign = plan_splits(BY_TIME, {None}, lambda: days)
    sides = {day: assign("", day, "") for day, _ in days}
    assert Counter(sides.values()) == {"train": 13 * 24, "validation": 3 * 24, "test": 4 * 24}
    assert sides["2025-01-13T23:00:00"] == "train"
    assert sides["2025-01-14T00:00:00"] == "validation"
    assert sides["2025-01-17T00:00:00"] == "test"


def test_a_date_that_is_none_is_named() -> None:
    with pytest.raises(DataError, match=r"a\.csv:3: 'yesterday' is not an ISO 8601 date"):
        plan_splits(BY_TIME, {None}, lambda: [("2025-01-01", "a.csv:2"), ("yesterday", "a.csv:3")])


def test_only_what_is_not_given_is_carved_out_of_train() -> None:
    digests = [digest_text(str(number)) for number in range(500)]
    for given_, expected in (
        ({"train", "test"}, {"train", "validation"}),
        ({"train", "validation"}, {"train", "test"}),
        ({"train", "validation", "test"}, {"train"}),
    ):
        assign = plan_splits(BY_TEXT, given_, no_days)
        assert {assign(one, None, "") for one in digests} == expected
    assert (
        plan_splits(BY_TIME, {"train", "validation", "test"}, no_days)(
            digest_text(""), "2025-01-01", ""
        )
        == "train"
    )


def assign_classes(num_rows: int, num_classes: int, split: Split) -> dict[str, Counter[str]]:
    """Splits of `num_classes` classes of `num_rows` rows each; a group of its own for each row."""
    rows = []
    for number in range(num_rows * num_classes):
        text = f"text {number}"
        rows.append((f"class {number % num_classes}", digest_text(text), text))
    classes: dict[str, set[float]] = {}
    for label, digest, group in rows:
        classes.setdefault(label, set()).add(find_point(split, digest, group, ""))
    assign = plan_splits(split, {None}, no_days, classes)
    counts: dict[str, Counter[str]] = {}
    for label, digest, group in rows:
        counts.setdefault(label, Counter())[assign(digest, group, "")] += 1
    return counts


@pytest.mark.parametrize("split", [BY_TEXT, BY_GROUP], ids=["text", "group"])
@pytest.mark.parametrize("num_rows", [3, 8, 20, 100])
def test_every_split_has_rows_of_every_class(num_rows: int, split: Split) -> None:
    counts = assign_classes(num_rows, 300, split)
    for label in counts.values():
        assert label["train"] >= max(1, num_rows * 0.65 / 2)
        assert label["validation"] >= max(1, num_rows * 0.15 / 2)
        assert label["test"] >= max(1, num_rows * 0.2 / 2)
