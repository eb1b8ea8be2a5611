"""Great Expectations behind one function: what comes back, and that it is quiet."""

import tempfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from plumbline.contract.errors import DataError
from plumbline.contract.expectations import Expectation, expect, select
from plumbline.contract.records import Check
from plumbline.quality import runner


def table(num_rows: int = 40) -> pd.DataFrame:
    found = pd.Series([None] * num_rows, dtype=object)
    found[3:15] = "odd"
    found[20] = "very odd"
    rows = {
        "id": [f"a.csv:{row}" for row in range(num_rows)],
        "excerpt": ["<b>=1+1</b>"] * num_rows,
        "found": found,
    }
    return pd.DataFrame(rows).assign(
        split=["train"] * 30 + ["test"] * (num_rows - 30), length=range(num_rows)
    )


def check(expectation: Expectation, name: str = "odd", severity: str = "blocking") -> Check:
    return Check(name, expectation, severity, "Rows are not odd", "remove them")


def never_odd(mostly: float = 1.0, *rows: object) -> Expectation:
    condition = select(*rows) if rows else None
    return expect("expect_column_values_to_be_null", condition, column="found", mostly=mostly)


def test_failing_rows_are_counted_and_shown() -> None:
    (result,) = runner.run_checks(table(), [check(never_odd(0.9))])

    assert not result.passed
    assert (result.num_rows, result.num_failing, result.share) == (40, 13, 0.325)
    assert result.observed == "13 of 40 rows (32.5 %)"
    assert result.threshold == "at most 10 %"
    assert len(result.examples) == 13  # who removes the rows needs all of them
    assert runner.FailingRow("a.csv:20", "very odd", "<b>=1+1</b>") in result.examples


def test_a_check_that_cannot_be_computed_has_failed() -> None:
    (result,) = runner.run_checks(
        table(), [check(expect("expect_column_max_to_be_between", column="no_such", max_value=1))]
    )

    assert not result.passed
    assert "no_such" in result.observed


@pytest.mark.parametrize("names", [[], ["odd", "odd"]])
def test_a_suite_that_would_let_data_pass_unseen_is_refused(names: list[str]) -> None:
    with pytest.raises(DataError, match="needs its own"):
        runner.run_checks(table(), [check(never_odd(), name) for name in names])


def test_the_digest_of_a_suite_tells_a_weaker_one_apart() -> None:
    strict = runner.digest_suite([check(never_odd(0.9))])

    assert strict == runner.digest_suite([check(never_odd(0.9))])
    weaker = [
        [],
        [check(never_odd(0.8))],
        [check(never_odd(0.9), severity="warning")],
        [check(never_odd(0.9), name="even")],
    ]
    assert len({strict, *map(runner.digest_suite, weaker)}) == 5


def test_a_table_in_batches_gets_the_results_of_one_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = table().assign(**{'a "name"': "x"})
    never_x = {"column": 'a "name"', "regex": "^X", "mostly": 0.9}
    checks = [
        check(never_odd(0.9), "odd"),
        check(never_odd(1.0, "split", "no_such"), "none_of_none"),
        check(expect("expect_column_values_to_not_match_regex", **never_x), "never_x"),
        check(expect("expect_column_values_to_not_match_regex", **never_x | {"regex": "^x"}), "x"),
        check(expect("expect_column_mean_to_be_between", column="length", max_value=20), "mean"),
        check(
            expect("expect_column_unique_value_count_to_be_between", column="id", max_value=3),
            "ids",
        ),
        check(
            expect("expect_table_columns_to_match_set", column_set=["id"], exact_match=False),
            "schema",
        ),
    ]
    in_memory = runner.run_checks(rows, checks)
    capfd.readouterr()
    batches = pa.Table.from_pandas(rows, preserve_index=False).to_batches(7)
    in_batches = runner.run_checks(iter(batches), checks)
    assert [result.passed for result in in_memory] == [False, True, True, False, True, False, True]
    assert in_batches == in_memory
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.glob("plumbline-*")) == []
