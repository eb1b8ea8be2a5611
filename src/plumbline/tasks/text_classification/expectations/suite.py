"""The suite: one declared check for each fault, how far it may go, and whether it blocks."""

from typing import TYPE_CHECKING, Any, Literal

from plumbline.contract.errors import ParamsError
from plumbline.contract.expectations import expect, select
from plumbline.contract.params import Leakage
from plumbline.contract.records import Check
from plumbline.contract.suggestion import suggest_nearest
from plumbline.statistics.power import count_explained_rows
from plumbline.tasks.text_classification.expectations.catalogue import CATALOGUE, FOLLOWS_FROM
from plumbline.tasks.text_classification.expectations.findings import HELD_OUT
from plumbline.tasks.text_classification.params import TextParams, TextValidation

if TYPE_CHECKING:
    import pandas as pd


# Limits that do not depend on the project; `validation.warnings` lets such a check pass.
MAX_DECODED_SHARE = 0.05  # rows with bytes that are not UTF-8
MAX_TRUNCATED_SHARE = 0.01
MAX_BLANK_SHARE = 0.05  # texts of no letter or digit, or of one character
MAX_FRACTIONAL_SHARE = 0.1  # labels that are numbers such as 81.56 and occur once
MAX_UNKNOWN_WORD_SHARE = 0.1  # of words, beyond what train shows against itself
MAX_LABEL_WORD_SHARE = 0.2  # rows of train with a word that nearly alone predicts a label


def build_checks(params: TextParams, table: "pd.DataFrame") -> list[Check]:
    """Return the checks for a table of `findings.build_table`, in the order of the catalogue.

    ParamsError where params name the costs of a class that no row has.
    """
    _refuse_unknown_costs(params, table)
    limits = params.validation
    suite = _expect_structure(limits) | _expect_labels(limits) | _expect_texts(limits)
    if params.data.columns.has_label_sets:
        suite["classes"] = _limit_labels(limits.max_classes)
        del suite["label_noise"]  # it judges rows with one class
    # The check `splits` reports a split without rows; nothing else can be said about it.
    num_rows = table["split"].value_counts()
    for split in set(HELD_OUT) & set(num_rows.index):
        gate_limits = params.evaluation.max_leakage
        suite |= _expect_held_out(limits, gate_limits, split, int(num_rows[split]))
    checks = []
    for name, (title, remedy) in CATALOGUE.items():
        if name in suite:
            severity: Literal["blocking", "warning"] = "blocking"
            if name in limits.warnings:
                severity = "warning"
            follows_from = FOLLOWS_FROM.get(name, ())
            checks.append(Check(name, suite[name], severity, title, remedy, follows_from))
    return checks


def _refuse_unknown_costs(params: TextParams, table: "pd.DataFrame") -> None:
    if not params.evaluation.costs:
        return
    classes = sorted(set(table["label"]))
    for actual, costs in params.evaluation.costs.items():
        for name in (actual, *costs):
            if name not in classes:
                hint = suggest_nearest(name, classes)
                raise ParamsError(f"evaluation.costs: no row has the label {name!r}{hint}")


def _expect_structure(limits: TextValidation) -> dict[str, Any]:
    return {
        "rows": expect(
            "expect_table_row_count_to_be_between",
            min_value=limits.min_rows,
            rows=select("split", "train"),
        ),
        "nulls": expect(
            "expect_column_max_to_be_between",
            column="dropped_share",
            max_value=limits.max_null_share,
        ),
        "encoding": _limit_findings("encoding", MAX_DECODED_SHARE),
        "truncated": _limit_findings("cut", MAX_TRUNCATED_SHARE),
    }


def _expect_labels(limits: TextValidation) -> dict[str, Any]:
    train = select("split", "train")
    held_out = select("split", *HELD_OUT)
    judged = select("judged", 1)
    return {
        "classes": _limit_distinct("label", "train", limits.max_classes),
        "rare_labels": _limit_findings("rare_labels", 0, train),
        "unseen_labels": _limit_findings("unseen_labels", 0, held_out),
        "continuous_labels": _limit_findings("continuous_labels", MAX_FRACTIONAL_SHARE),
        "label_words": _limit_findings("label_words", MAX_LABEL_WORD_SHARE, train),
        "near_identical_labels": _limit_findings("near_identical_labels", 0),
        "label_noise": _limit_findings("label_noise", limits.max_label_noise_share, judged),
    }


def _expect_texts(limits: TextValidation) -> dict[str, Any]:
    return {
        "blanks": _limit_findings("blanks", MAX_BLANK_SHARE),
        "distinct_texts": _limit_distinct("compact", "train"),
        "duplicates": _limit_findings("duplicates", limits.max_duplicate_share),
        "conflicting_duplicates": _limit_findings(
            "conflicting_duplicates", limits.max_conflict_share
        ),
        "personal_data": _limit_findings("personal_data", limits.max_personal_data_share),
    }


def _expect_held_out(
    limits: TextValidation, gate_limits: Leakage, split: str, num_rows: int
) -> dict[str, Any]:
    """Expect what the gate `leakage` asks too: it would refuse after all was trained."""
    rows = select("split", split)

    def limit_leaks(column: str, max_share: float) -> Any:
        mostly = (num_rows - count_explained_rows(num_rows, max_share)) / num_rows
        return expect("expect_column_values_to_be_null", column=column, mostly=mostly, rows=rows)

    leakage = f"leakage_{split}"
    near = f"near_duplicates_{split}"
    unknown = expect(
        "expect_column_mean_to_be_between",
        column="unknown_words",
        max_value=MAX_UNKNOWN_WORD_SHARE,
        rows=rows,
    )
    absent = f"absent_labels_{split}"
    return {
        f"classes_{split}": _limit_distinct("label", split),
        absent: _limit_findings(absent, 0, select("split", "train")),
        leakage: limit_leaks(leakage, min(limits.max_leakage_share, gate_limits.exact)),
        near: limit_leaks(near, min(limits.max_near_duplicate_share, gate_limits.near)),
        f"groups_{split}": limit_leaks(f"groups_{split}", gate_limits.group),
        f"unknown_words_{split}": unknown,
    }


def _limit_findings(column: str, max_share: float, rows: Any = None) -> Any:
    """Expect a finding (not null) in at most `max_share` of the rows."""
    return expect("expect_column_values_to_be_null", column=column, mostly=1 - max_share, rows=rows)


def _limit_distinct(column: str, split: str, max_value: int | None = None) -> Any:
    """Expect at least two values, and at most `max_value`."""
    return expect(
        "expect_column_unique_value_count_to_be_between",
        column=column,
        min_value=2,
        max_value=max_value,
        rows=select("split", split),
    )


def _limit_labels(max_value: int) -> Any:
    """Expect at least two labels in the sets of train, and at most `max_value`."""
    return expect(
        "expect_column_max_to_be_between",
        column="num_labels",
        min_value=2.0,
        max_value=float(max_value),
        rows=select("split", "train"),
    )
