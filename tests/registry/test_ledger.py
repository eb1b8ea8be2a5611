"""Each use of a test split counts, and splits that share rows are seen as one."""

from pathlib import Path

import pytest

from plumbline.registry import ledger
from plumbline.registry.ledger import SIZE, build_sketch, estimate_share


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


def test_order_and_copies_change_nothing() -> None:
    sketch = build_sketch(rows(0, 1000))
    assert build_sketch([*reversed(rows(0, 1000)), "row 3"]) == sketch
    assert len(sketch.list_hashes()) == SIZE


def test_a_split_without_rows_shares_none() -> None:
    assert estimate_share(build_sketch([]), build_sketch(rows(0, 9))) == 0.0


@pytest.fixture
def empty(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a journal as the cwd."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return folder


def record_look(question: str, split: str = "split", plan: str = "20 uses") -> ledger.Look:
    return ledger.record_look("line", ledger.SplitUse(question=question, split=split, plan=plan))


def test_every_question_asked_of_a_test_split_counts_once(empty: Path) -> None:
    assert [record_look(question).number for question in "abacb"] == [1, 2, 1, 3, 2]
    other = record_look("c", split="another split")
    assert (other.number, other.first_plan) == (1, "20 uses")
    # the split is used up, whichever model asks
    use = ledger.SplitUse(question="c", split="split", plan="40 uses")
    third = ledger.record_look("other", use)
    assert (third.number, third.first_plan) == (3, "20 uses")
    uses = [f"{use.question} of {use.split}" for use in ledger.read_uses()]
    assert uses == ["a of split", "b of split", "c of split", "c of another split"]
    assert ledger.count_look(ledger.read_uses(), use) == third


def test_another_rule_for_the_same_models_is_another_look_that_says_so(empty: Path) -> None:
    asked = [record_look(question) for question in ("a better", "a not-worse", "b not-worse")]
    assert [look.number for look in asked] == [1, 2, 3]
    said = "Use 1 of this test split asked: better; this one: not-worse."
    assert [look.change for look in asked] == ["", said, said]
    assert record_look("a better").change == ""  # as it was


def test_a_split_that_shares_rows_with_an_earlier_one_is_that_split(empty: Path) -> None:
    def look(question: str, split: str, first: int) -> ledger.Look:
        sketch = build_sketch(rows(first, first + 1000))
        return ledger.record_look("line", ledger.SplitUse(question, split, "20", sketch=sketch))

    assert look("a", "one", 0).number == 1
    moved = look("b", "two", 700)  # 30 % of its rows were in the first
    assert (moved.number, moved.num_splits, moved.first_plan) == (2, 2, "20")
    assert look("c", "three", 950).number == 2  # it shares rows with the second alone
    assert look("d", "four", 5000).number == 1
    assert look("a", "one", 0).number == 1  # a known question
