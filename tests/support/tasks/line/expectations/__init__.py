"""What a point must be, and whether a test point is also in train."""

from pathlib import Path

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check, Leak


def build_table(params, examples, manifest, facts):
    return manifest.read()


def build_checks(params, table):
    limit = params.validation.max_abs_x
    between = expect(
        "expect_column_values_to_be_between", column="x", min_value=-limit, max_value=limit
    )
    return [
        Check(
            "range",
            between,
            "blocking",
            "x lies in its range",
            "repair the source, or raise validation.max_abs_x",
        )
    ]


def find_leaks(params, examples: Path) -> list[Leak]:
    from tasks.line.data import read_points

    train, test = read_points(examples, "train"), read_points(examples, "test")
    num_leaked = int(test["x"].isin(train["x"]).sum())
    return [Leak("exact", "test", num_leaked, len(test), ())]
