"""The suite: one declared check for each fault, how far it may go, and whether it blocks."""

from typing import TYPE_CHECKING, Any

from plumbline.contract.task import SPLITS, Check
from plumbline.tasks.text_classification.expectations.catalogue import CATALOGUE
from plumbline.tasks.text_classification.expectations.findings import COLUMNS, HELD_OUT
from plumbline.tasks.text_classification.params import TextParams, Validation

if TYPE_CHECKING:
    import pandas as pd


def expectations(params: TextParams, table: "pd.DataFrame") -> list[Check]:
    """The suite for a table that `findings.table` made: how far each fault may go, and which of them only warn."""
    limits = params.validation
    suite = _structure(limits) | _labels(limits) | _texts(limits)
    for split in set(HELD_OUT) & set(
        table["split"]
    ):  # one without rows is told of by the check `splits`
        suite |= _between_splits(limits, split)
    if limits.reference is not None:
        suite |= _against_reference(limits)
    return [
        Check(
            name,
            suite[name],
            "warning" if name in limits.warnings else "blocking",
            *CATALOGUE[name],
        )
        for name in sorted(suite, key=list(CATALOGUE).index)
    ]


def _structure(limits: Validation) -> dict[str, Any]:
    from great_expectations import expectations as gxe

    return {
        "schema": gxe.ExpectTableColumnsToMatchSet(
            column_set=[*COLUMNS, "text"], exact_match=False
        ),
        "rows": gxe.ExpectTableRowCountToBeBetween(
            min_value=limits.min_rows, row_condition=_in("split", "train")
        ),
        "splits": gxe.ExpectColumnDistinctValuesToEqualSet(column="split", value_set=list(SPLITS)),
        "nulls": gxe.ExpectColumnMaxToBeBetween(
            column="dropped_share", max_value=limits.max_null_share
        ),
        "encoding": _found("encoding", limits.max_decoded_share),
        "truncated": _found("cut", limits.max_truncated_share),
    }


def _labels(limits: Validation) -> dict[str, Any]:
    return {
        "classes": _distinct("label", "train", limits.max_classes),
        "rare_labels": _found("rare_labels", 0, _in("split", "train")),
        "unseen_labels": _found("unseen_labels", 0, _in("split", *HELD_OUT)),
        "continuous_labels": _found("continuous_labels", limits.max_fractional_label_share),
        "near_identical_labels": _found("near_identical_labels", 0),
        "label_noise": _found("label_noise", limits.max_label_noise_share, _in("judged", 1)),
    }


def _texts(limits: Validation) -> dict[str, Any]:
    return {
        "blanks": _found("blanks", limits.max_blank_share),
        "distinct_texts": _distinct("compact", "train"),
        "duplicates": _found("duplicates", limits.max_duplicate_share),
        "conflicting_duplicates": _found("conflicting_duplicates", limits.max_conflict_share),
        "personal_data": _found("personal_data", limits.max_personal_data_share),
    }


def _between_splits(limits: Validation, split: str) -> dict[str, Any]:
    here, leak, near = _in("split", split), f"leakage_{split}", f"near_duplicates_{split}"
    return {
        f"classes_{split}": _distinct("label", split),
        leak: _found(leak, limits.max_leakage_share, here),
        near: _found(near, limits.max_near_duplicate_share, here),
        f"unknown_words_{split}": _mean_below("unknown_words", limits.max_unknown_word_share, here),
    }


def _against_reference(limits: Validation) -> dict[str, Any]:
    from great_expectations import expectations as gxe

    return {
        "label_drift": gxe.ExpectColumnMaxToBeBetween(
            column="label_drift", max_value=limits.max_label_drift
        ),
        "length_drift": gxe.ExpectColumnMaxToBeBetween(
            column="length_drift", max_value=limits.max_length_drift
        ),
        "vocabulary_drift": _mean_below("new_words", limits.max_unknown_word_share),
    }


def _found(column: str, max_share: float, where: Any = None) -> Any:
    from great_expectations import expectations as gxe

    return gxe.ExpectColumnValuesToBeNull(column=column, mostly=1 - max_share, row_condition=where)


def _distinct(column: str, split: str, max_value: int | None = None) -> Any:
    from great_expectations import expectations as gxe

    return gxe.ExpectColumnUniqueValueCountToBeBetween(
        column=column, min_value=2, max_value=max_value, row_condition=_in("split", split)
    )


def _mean_below(column: str, limit: float, where: Any = None) -> Any:
    from great_expectations import expectations as gxe

    return gxe.ExpectColumnMeanToBeBetween(column=column, max_value=limit, row_condition=where)


def _in(column: str, *values: str | int) -> Any:
    from great_expectations.expectations.row_conditions import Column

    return Column(column).is_in(values)
