"""validate: check examples against the task's expectations; only accepted ones are trained on."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import DataError, ParamsError, RejectedError
from plumbline.contract.params import Params
from plumbline.contract.steps import announce
from plumbline.contract.task import SPLITS, Task
from plumbline.process.files import digest_path, read_output, write_aside, write_json
from plumbline.process.visible_text import show_line
from plumbline.quality import runner, suite
from plumbline.quality.manifest_check import check_manifest
from plumbline.reporting.html import render_template
from plumbline.statistics.reach import find_unreachable_limits
from plumbline.tables.manifest_file import Manifest, ManifestSummary
from plumbline.tracking.dataset_facts import describe_dataset
from plumbline.tracking.records import KILLED, RunFacts

NUM_BINS = 24
MAX_CLASSES = 1000
MAX_SHOWN = 3  # examples in a message; the report has more
LOCK_OUT = {"accepted": False, "manifest": None, "reason": "validation has not finished"}


def validate(params: Params, task: Task[Params]) -> None:
    """Write reports/validation.json and .html.

    Raises RejectedError, once both are written, if a blocking check failed; ParamsError for a limit
    that no model of this task can be held to.
    """
    write_json(layout.VALIDATION, LOCK_OUT)
    _refuse_limit_of_cost(params, task)
    results, report = _check(params, task)
    _announce(results, report)


def describe_run(status: str, params: Params, task: Task[Params]) -> RunFacts:
    """Describe what was checked, and with which result; that of rejected data too."""
    facts = RunFacts(params={"validation": params.validation.model_dump(mode="json")})
    if status == KILLED or not layout.VALIDATION.exists():
        return facts
    report = read_output(layout.VALIDATION, "validate")
    if "checks" not in report:  # it did not come that far
        return facts
    failed = [check["name"] for check in report["checks"] if not check["passed"]]
    facts.datasets.append(describe_dataset(task.name, "validation"))
    num_checks = len(report["checks"])
    facts.metrics = {"checks/passed": num_checks - len(failed), "checks/failed": len(failed)}
    facts.metrics |= {f"rows/{split}": rows for split, rows in report["splits"].items()}
    facts.tags["plumbline.accepted"] = str(report["accepted"]).lower()
    facts.tags["plumbline.failed_checks"] = ", ".join(failed) or "none"
    for path in (layout.VALIDATION_PAGE, layout.VALIDATION):
        facts.add_file(path)
    return facts


def _refuse_limit_of_cost(params: Params, task: Task[Params]) -> None:
    """Raise ParamsError where answers of this task cost nothing, and params limit their cost.

    The gate `budget` would say so, after all training.
    """
    limit = params.evaluation.budget.cost
    if limit is not None and not task.metric.cost_unit:
        raise ParamsError(
            f"{layout.PARAMS}: evaluation.budget.cost: answers of {task.name} cost nothing; "
            f"set it to null; found {limit:g}"
        )


def _check(
    params: Params, task: Task[Params]
) -> tuple[list[runner.ExpectationResult], dict[str, Any]]:
    """Write both reports; return the results and what the page says.

    Notes about limits of `evaluation` are on the page alone: training depends on the other report,
    and following such a note must not train again.
    """
    manifest, source = _read_ingested()
    announce("compares the manifest with the examples")
    check_manifest(manifest, task, layout.EXAMPLES)
    summary = manifest.summarise()
    announce("looks for copies, leaks and traces of the label")
    table = task.expectations.build_table(params, layout.EXAMPLES, manifest, source)
    checks = suite.build_suite(params, task, manifest.read_held_out())
    announce(f"checks {len(checks)} expectations by Great Expectations")
    results = runner.run_checks(table, checks)
    report = _build_report(results, summary, source, runner.digest_suite(checks))
    notices = [*report["notices"], *_find_unreachable_limits(params, task, summary)]
    page = report | {"notices": notices}
    with write_aside(layout.VALIDATION_PAGE) as aside:
        aside.write_text(render_template("validation.html", page), encoding="utf-8")
    write_json(layout.VALIDATION, report)  # last: accepted only once all of it is on disk
    return results, page


def _read_ingested() -> tuple[Manifest, dict[str, Any]]:
    """Read the manifest and the facts about its source.

    Raises DataError where they are missing, damaged or not of one ingest.
    """
    source = read_output(layout.SOURCE, "ingest")
    for path, key in ((layout.EXAMPLES, "digest"), (layout.MANIFEST, "manifest")):
        if source.get(key) != digest_path(path):
            raise DataError(
                f"{path} is not what ingest wrote: digest mismatch with {key} in {layout.SOURCE}; "
                "run `dvc repro -f ingest`"
            )
    return Manifest(layout.MANIFEST), source


def _build_report(
    results: list[runner.ExpectationResult],
    summary: ManifestSummary,
    source: dict[str, Any],
    suite: str,
) -> dict[str, Any]:
    return {
        "accepted": not _find_failed(results, "blocking"),
        "manifest": digest_path(layout.MANIFEST),
        "examples": digest_path(layout.EXAMPLES),
        "suite": suite,
        "checks": list(map(asdict, results)),
        "splits": {split: summary.count_rows(split) for split in SPLITS},
        "classes": _count_classes(summary),
        "lengths": _build_histogram(summary.lengths),
        "notices": source.get("notices", []),
    }


def _find_unreachable_limits(
    params: Params, task: Task[Params], summary: ManifestSummary
) -> list[str]:
    """Say which limits of `evaluation` no model can meet on this test split."""
    labels = summary.count_labels("test")
    majority = None  # unless one answer to all rows is right on its share of them
    if task.metric.kind == "binary" and labels and not task.chosen:
        majority = max(labels.values()) / labels.total()
    return find_unreachable_limits(params.evaluation, task.metric, labels.total(), majority)


def _count_classes(summary: ManifestSummary) -> list[dict[str, Any]]:
    """Count the rows of each class in each split, the largest class first.

    Empty where labels are values, not classes.
    """
    splits = {split: summary.count_labels(split) for split in SPLITS}
    labels = sorted({label for _, label in summary.sizes})
    if len(labels) > MAX_CLASSES:
        return []
    labels.sort(key=lambda label: -sum(own[label] for own in splits.values()))
    return [
        {"label": str(label), "rows": {split: own[label] for split, own in splits.items()}}
        for label in labels
    ]


def _build_histogram(counted: Counter[int]) -> dict[str, Any]:
    """Build a histogram of lengths: each bin has its first and last length, and its rows.

    The last bin also takes the longest 0.5 %.
    """
    import numpy as np

    lengths = np.repeat([*counted.keys()], [*counted.values()])
    high = int(np.quantile(lengths, 0.995))
    positions = np.linspace(min(lengths.min(), high), high + 1, NUM_BINS + 1)
    edges = np.unique(positions.astype(int)).tolist()
    rows = np.histogram(np.minimum(lengths, high), bins=edges)[0]
    bins = [
        {"low": low, "high": end - 1, "rows": int(num_rows)}
        for low, end, num_rows in zip(edges, edges[1:], rows, strict=False)
    ]
    return {"bins": bins, "median": float(np.median(lengths)), "longest": int(lengths.max())}


def _announce(results: list[runner.ExpectationResult], report: dict[str, Any]) -> None:
    """Print notices and warnings; raise RejectedError where a blocking check failed."""
    failed = _find_failed(results, "blocking")
    warned = _find_failed(results, "warning")
    for line in [*report["notices"], *_describe_results(warned)]:
        print(f"validate: note: {show_line(line)}")  # noqa: T201 (the stage's result)
    if failed:
        causes, followers = _separate_followers(failed)
        count = "1 check" if len(causes) == 1 else f"{len(causes)} checks"
        message = f"rejected by {count} of {len(results)}; see {layout.VALIDATION_PAGE}"
        lines = [show_line(line) for line in _describe_results(causes)]
        if followers:
            lines.append(f"also failed, as follows from that: {', '.join(followers)}")
        raise RejectedError("\n  ".join([message, *lines]))
    rows = ", ".join(f"{n:,} {split}" for split, n in report["splits"].items())
    num_passed = len(results) - len(warned)
    message = f"accepted by {num_passed} of {len(results)} checks ({rows} rows)"
    print(f"validate: {message}")  # noqa: T201 (the stage's result)


def _find_failed(
    results: Iterable[runner.ExpectationResult], severity: str
) -> list[runner.ExpectationResult]:
    return [result for result in results if not result.passed and result.severity == severity]


def _separate_followers(
    failed: list[runner.ExpectationResult],
) -> tuple[list[runner.ExpectationResult], list[str]]:
    """Return the results that no other failure explains, and the names of the others."""
    names = {result.name for result in failed}
    causes = [result for result in failed if names.isdisjoint(result.follows_from)]
    shown = {result.name for result in causes}
    return causes, [result.name for result in failed if result.name not in shown]


def _describe_results(results: Iterable[runner.ExpectationResult]) -> Iterator[str]:
    for result in results:
        shown = "; ".join(f"{row.id} {row.value}" for row in result.examples[:MAX_SHOWN])
        line = f"{result.name}: {result.title}: {result.observed}, allowed {result.threshold}"
        if shown:
            line += f" [{shown}]"
        yield f"{line}; {result.remedy}"
