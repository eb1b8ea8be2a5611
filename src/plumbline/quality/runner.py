"""The only module that runs great_expectations: a table and checks in, plain results out."""

import hashlib
import json
import logging
import math
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from plumbline.contract.errors import DataError
from plumbline.contract.records import Check
from plumbline.quality.findings_database import TABLE, open_database

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MAX_EXAMPLES = 1000  # failing rows that are named: who has to remove them needs all
INDEX = ("id", "excerpt")  # by which a person knows a row; a task may do without the second


@dataclass(frozen=True)
class FailingRow:
    """One failing row: which it is, the value there, and how the row reads."""

    id: str
    value: str
    excerpt: str


@dataclass(frozen=True)
class ExpectationResult:
    """What one check measured; counts and share are None where it looks at the whole table."""

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
    examples: tuple[FailingRow, ...]
    follows_from: tuple[str, ...] = ()


def run_checks(
    table: "pd.DataFrame | Iterator[pa.RecordBatch]", checks: Sequence[Check]
) -> list[ExpectationResult]:
    """Run `checks` on `table` (one row an example, column `id`); results are in their order.

    A check that cannot be computed has failed. Raises DataError where there is nothing to check, or
    two checks share a name: both would let data pass unseen.
    """
    names = [check.name for check in checks]
    if not names or len(set(names)) < len(names):
        raise DataError(
            f"the suite holds {len(names)} checks with {len(set(names))} names; each needs its own"
        )
    answers = _ask_great_expectations(table, checks)
    return [_build_result(check, answers[check.name]) for check in checks]


def digest_suite(checks: Sequence[Check]) -> str:
    """Compute the SHA-256 of names, severities and expectations: it shows a weakened suite."""
    declared = [[check.name, check.severity, asdict(check.expectation)] for check in checks]
    return hashlib.sha256(json.dumps(declared, sort_keys=True, default=str).encode()).hexdigest()


def _ask_great_expectations(
    table: "pd.DataFrame | Iterator[pa.RecordBatch]", checks: Sequence[Check]
) -> dict[str, dict[str, Any]]:
    """Return Great Expectations' answers as plain JSON values, by the name of the check."""
    import pandas as pd

    with _silence_library():
        import great_expectations as gx

        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        context.enable_analytics(False)
        if isinstance(table, pd.DataFrame):
            pandas = context.data_sources.add_pandas("manifest")
            whole = pandas.add_dataframe_asset(TABLE).add_batch_definition_whole_dataframe("all")
            return _run_checkpoint(context, whole, table.columns, checks, {"dataframe": table})
        with open_database(table) as (path, columns):
            source = context.data_sources.add_sqlite(
                "manifest", connection_string=f"sqlite:///{path}"
            )
            asset = source.add_table_asset(TABLE, table_name=TABLE)
            whole = asset.add_batch_definition_whole_table("all")
            try:
                return _run_checkpoint(context, whole, columns, checks)
            finally:
                source.get_engine().dispose()  # the file goes


def _run_checkpoint(
    context: Any,
    batch: Any,
    columns: Collection[str],
    checks: Sequence[Check],
    parameters: Mapping[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """Ask all checks of one batch definition of Great Expectations."""
    import great_expectations as gx

    expectations = [_build_expectation(check) for check in checks]
    suite = gx.ExpectationSuite(name="suite", expectations=expectations)
    definition = gx.ValidationDefinition(
        name="validate", data=batch, suite=context.suites.add(suite)
    )
    checkpoint = gx.Checkpoint(
        name="validate",
        validation_definitions=[context.validation_definitions.add(definition)],
        result_format={
            "result_format": "SUMMARY",
            "unexpected_index_column_names": [column for column in INDEX if column in columns],
            "partial_unexpected_count": MAX_EXAMPLES,
        },
    )
    outcome = checkpoint.run(batch_parameters=parameters)
    (report,) = outcome.run_results.values()
    return {
        answer.expectation_config.meta["check"]: answer.to_json_dict() for answer in report.results
    }


@contextmanager
def _silence_library() -> Iterator[None]:
    """Hide the library's own log lines and the deprecation warnings of what it imports."""
    logger = logging.getLogger("great_expectations")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _build_expectation(check: Check) -> Any:
    """Return what Great Expectations asks."""
    from great_expectations.expectations.registry import get_expectation_impl
    from great_expectations.expectations.row_conditions import Column

    declared = check.expectation
    options = dict(declared.options)
    if declared.rows is not None:
        column, values = declared.rows
        options["row_condition"] = Column(column).is_in(list(values))
    severity = "critical" if check.severity == "blocking" else "warning"
    meta = {"check": check.name}
    return get_expectation_impl(declared.kind)(**options, meta=meta, severity=severity)


def _build_result(check: Check, answer: Mapping[str, Any]) -> ExpectationResult:
    result = answer["result"]
    num_rows = result.get("element_count")
    num_failing = result.get("unexpected_count")
    if num_rows == 0:
        num_failing = 0  # to SQL, a sum of no rows is unknown
    share = None
    if num_rows is None or num_failing is None:  # it looks at the table as a whole
        num_rows, num_failing = None, None
    else:
        share = num_failing / num_rows if num_rows else 0.0
    return ExpectationResult(
        name=check.name,
        severity=check.severity,
        title=check.title,
        remedy=check.remedy,
        passed=bool(answer["success"]),
        observed=_describe_observed(answer, num_rows, share),
        threshold=_describe_threshold(answer["expectation_config"]["kwargs"]),
        num_rows=num_rows,
        num_failing=num_failing,
        share=share,
        examples=_pick_examples(result.get("partial_unexpected_index_list") or []),
        follows_from=check.follows_from,
    )


def _describe_observed(answer: Mapping[str, Any], num_rows: int | None, share: float | None) -> str:
    result = answer["result"]
    error = _find_error(answer.get("exception_info") or {})
    if error:
        return f"could not be computed: {error}"
    if num_rows is not None and share is not None:
        counts = f"{result['unexpected_count'] or 0:,} of {num_rows:,} rows"
        return f"{counts} ({100 * share:.1f} %)" if share else counts
    mismatched = result.get("details", {}).get("mismatched", {})
    missing = result.get("partial_missing_list") or mismatched.get("missing")
    if missing:
        return f"missing: {', '.join(map(str, missing))}"
    value = result.get("observed_value")
    if answer["success"] and not isinstance(value, int | float):
        return "as expected"
    return _format_value(value)


def _find_error(info: Mapping[str, Any]) -> str | None:
    """Return the first message in what may be one record, or one for each metric."""
    records = [info, *(value for value in info.values() if isinstance(value, dict))]
    for record in records:
        if record.get("raised_exception"):
            return str(record["exception_message"]).splitlines()[0][:200]
    return None


def _describe_threshold(options: Mapping[str, Any]) -> str:
    if "mostly" in options:
        share = 100 * (1 - options["mostly"])
        return f"at most {share:.3g} %" if share > 0 else "none"
    low = options.get("min_value")
    high = options.get("max_value")
    if low is not None and high is not None:
        return f"{_format_value(low)} to {_format_value(high)}"
    if low is not None:
        return f"at least {_format_value(low)}"
    if high is not None:
        return f"at most {_format_value(high)}"
    allowed = options.get("value_set") or options.get("column_set")
    return ", ".join(map(str, allowed)) if allowed else "none"


def _pick_examples(rows: Iterable[Mapping[str, Any]]) -> tuple[FailingRow, ...]:
    """List the failing rows, a first one of each value before all others: pages show only some."""
    first: dict[str, FailingRow] = {}  # by value
    others = []
    for row in rows:
        values = [_format_value(cell) for name, cell in row.items() if name not in INDEX]
        value = next(iter(values), "")
        example = FailingRow(str(row.get("id", "")), value, str(row.get("excerpt", "")))
        if first.setdefault(value, example) is not example:
            others.append(example)
    return (*first.values(), *others)


def _format_value(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "not a number"
        return f"{value:,.0f}" if value.is_integer() else f"{round(value, 3):g}"
    if isinstance(value, list):
        return ", ".join(map(_format_value, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
