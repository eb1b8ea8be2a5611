"""The only module that runs great_expectations: a table and declared checks in, one plain result per check out."""

import hashlib
import json
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from plumbline.contract.errors import DataError
from plumbline.contract.task import Check

if TYPE_CHECKING:
    import pandas as pd

MAX_EXAMPLES = 10
MAX_LOOKED_AT = 1000  # failing rows among which differing examples are sought
INDEX = (
    "id",
    "excerpt",
)  # columns by which a person knows a row again; a task may do without the second


@dataclass(frozen=True)
class Example:
    """One failing row: which it is, what was found there, and how it reads."""

    id: str
    value: str
    excerpt: str


@dataclass(frozen=True)
class Result:
    """What one check found; counts and share are None where the check looks at the table as a whole."""

    name: str
    severity: Literal["blocking", "warning"]
    title: str
    remedy: str
    passed: bool
    observed: str
    threshold: str
    num_rows: int | None
    num_failing: int | None
    share: float | None
    examples: tuple[Example, ...]


def run(table: "pd.DataFrame", checks: Sequence[Check]) -> list[Result]:
    """Hold `table` (one row an example, column `id`) against `checks`, in order; what cannot be computed has failed.

    Raises DataError where there is nothing to check, or two checks share a name: both would let data pass unseen.
    """
    names = [check.name for check in checks]
    if not names or len(set(names)) < len(names):
        raise DataError(
            f"the suite holds {len(names)} checks with {len(set(names))} names; each needs its own"
        )
    found = _validate(table, checks)
    return [_result(check, found[check.name]) for check in checks]


def digest(checks: Sequence[Check]) -> str:
    """SHA-256 of the declared suite: names, severities and expectations, so that a weakened suite shows."""
    declared = [[check.name, check.severity, _declared(check)] for check in checks]
    return hashlib.sha256(json.dumps(declared, sort_keys=True, default=str).encode()).hexdigest()


def _validate(table: "pd.DataFrame", checks: Sequence[Check]) -> dict[str, dict[str, Any]]:
    """Great Expectations' answers as plain JSON values, by the name of the check."""
    with _quiet():
        import great_expectations as gx

        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        context.enable_analytics(False)
        whole = context.data_sources.add_pandas("manifest").add_dataframe_asset("rows")
        suite = gx.ExpectationSuite(name="suite", expectations=[_named(check) for check in checks])
        definition = gx.ValidationDefinition(
            name="validate",
            data=whole.add_batch_definition_whole_dataframe("all"),
            suite=context.suites.add(suite),
        )
        checkpoint = gx.Checkpoint(
            name="validate",
            validation_definitions=[context.validation_definitions.add(definition)],
            result_format={
                "result_format": "SUMMARY",
                "unexpected_index_column_names": [column for column in INDEX if column in table],
                "partial_unexpected_count": MAX_LOOKED_AT,
            },
        )
        outcome = checkpoint.run(batch_parameters={"dataframe": table})
    (answers,) = outcome.run_results.values()
    return {
        answer.expectation_config.meta["check"]: answer.to_json_dict() for answer in answers.results
    }


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the library's own log lines and the deprecation warnings of what it imports."""
    logger = logging.getLogger("great_expectations")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _named(check: Check) -> Any:
    severity = "critical" if check.severity == "blocking" else "warning"
    return check.expectation.copy(
        update={"meta": {"check": check.name}, "severity": severity, "id": None}
    )


def _declared(check: Check) -> Any:
    kwargs = check.expectation.configuration.kwargs
    return [check.expectation.expectation_type, {k: v for k, v in kwargs.items() if v is not None}]


def _result(check: Check, answer: dict[str, Any]) -> Result:
    found = answer["result"]
    num_rows, num_failing = found.get("element_count"), found.get("unexpected_count")
    by_row = num_rows is not None and num_failing is not None
    share = num_failing / num_rows if by_row and num_rows else 0.0 if by_row else None
    return Result(
        name=check.name,
        severity=check.severity,
        title=check.title,
        remedy=check.remedy,
        passed=bool(answer["success"]),
        observed=_observed(answer, num_rows if by_row else None, share),
        threshold=_threshold(answer["expectation_config"]["kwargs"]),
        num_rows=num_rows if by_row else None,
        num_failing=num_failing if by_row else None,
        share=share,
        examples=_examples(found.get("partial_unexpected_index_list") or []),
    )


def _observed(answer: dict[str, Any], num_rows: int | None, share: float | None) -> str:
    found, fault = answer["result"], _fault(answer.get("exception_info") or {})
    if fault:
        return f"could not be computed: {fault}"
    if num_rows is not None and share is not None:
        return f"{found['unexpected_count']:,} of {num_rows:,} rows" + (
            f" ({100 * share:.1f} %)" if share else ""
        )
    if missing := found.get("partial_missing_list") or found.get("details", {}).get(
        "mismatched", {}
    ).get("missing"):
        return f"missing: {', '.join(map(str, missing))}"
    if answer["success"] and not isinstance(found.get("observed_value"), int | float):
        return "as expected"
    return _text(found.get("observed_value"))


def _fault(info: dict[str, Any]) -> str | None:
    """The first message in what may be one record, or one per metric."""
    for record in [info, *(value for value in info.values() if isinstance(value, dict))]:
        if record.get("raised_exception"):
            return str(record["exception_message"]).splitlines()[0][:200]
    return None


def _threshold(kwargs: dict[str, Any]) -> str:
    low, high = kwargs.get("min_value"), kwargs.get("max_value")
    if "mostly" in kwargs:
        share = 100 * (1 - kwargs["mostly"])
        return f"at most {share:.3g} %" if share > 0 else "none"
    if low is not None and high is not None:
        return f"{_text(low)} to {_text(high)}"
    if low is not None or high is not None:
        return f"at least {_text(low)}" if high is None else f"at most {_text(high)}"
    wanted = kwargs.get("value_set") or kwargs.get("column_set")
    return ", ".join(map(str, wanted)) if wanted else "none"


def _examples(rows: list[dict[str, Any]]) -> tuple[Example, ...]:
    """Up to ten failing rows, those with a value not yet shown first."""
    seen: set[str] = set()
    fresh: list[Example] = []
    again: list[Example] = []
    for row in rows:
        value = next((_text(v) for k, v in row.items() if k not in INDEX), "")
        (again if value in seen else fresh).append(
            Example(str(row.get("id", "")), value, str(row.get("excerpt", "")))
        )
        seen.add(value)
    return tuple([*fresh, *again][:MAX_EXAMPLES])


def _text(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "not a number"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{round(value, 3):g}"
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:,}" if isinstance(value, int) else "nothing" if value is None else str(value)
