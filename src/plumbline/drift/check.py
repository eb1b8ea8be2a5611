"""One check for drift: the rows, the tests, the decision, and its report."""

import hashlib
from dataclasses import asdict
from datetime import UTC, datetime

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.contract.params import MAX_WINDOW_ROWS, Drift, Params
from plumbline.contract.suggestion import suggest_nearest
from plumbline.drift import decision, statistical_tests, window
from plumbline.drift.decision import DriftOutcome
from plumbline.drift.statistical_tests import LABEL
from plumbline.drift.training_request import request_training
from plumbline.drift.window import RowWindow
from plumbline.process.files import write_aside, write_json
from plumbline.registry import promotion
from plumbline.registry.reader import find_version
from plumbline.registry.reader.verified_cache import CachedVersion, VerifiedModelCache
from plumbline.reporting import html
from plumbline.scoring.scorer import describe_model


def check_drift(
    address: str, current: str, params: Params, *, label: str, record: bool
) -> DriftOutcome:
    """Compare today's rows with the champion's test rows and write reports/drift.json and .html.

    `current` is a file, or a folder or address with logged requests, `label` the column with the
    true answers. With `record` the result is written to the journal and earlier checks count.
    Raises ParamsError where there is no column `label`, DataError where `current` cannot be read.
    """
    version = find_version(address)  # of a champion, its evidence is that of the decision on it
    champion = VerifiedModelCache(f"models:/{version.name}/{version.number}").fetch_latest()
    reference = window.load_reference(version)
    log, since = window.digest_log(current), None
    if record and log:
        history = promotion.read_history(champion.name)
        since = decision.find_last_check(history, champion.version, log)
    read_at = datetime.now(UTC)  # what is logged from now on is of the next window
    rows = window.load_current(current, champion, MAX_WINDOW_ROWS, since)
    rows = _name_label(rows, label, current, champion)
    answer = window.OUTPUT + bundle.read_signature(champion.folder).outputs[0].name
    tests = statistical_tests.compare_tables(reference.rows, rows.rows, answer, params.seed)
    tests = statistical_tests.judge_tests(tests, params.drift.alpha, params.drift.min_effect)
    outcome = decision.judge_window(tests, len(rows.rows), params.drift)
    if record and outcome.verdict != "too few rows":
        outcome = _record_outcome(outcome, champion, rows, log, read_at, params.drift)
    report = {
        "model": describe_model(champion),
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "rows": {
            name: {"source": each.source, "num_rows": len(each.rows)}
            for name, each in (("reference", reference), ("current", rows))
        },
        "tests": list(map(asdict, tests)),
        "limits": params.drift.model_dump(mode="json"),
    }
    write_json(layout.DRIFT, report)
    with write_aside(layout.DRIFT_PAGE) as aside:
        aside.write_text(html.render_template("drift.html", report), encoding="utf-8")
    return outcome


def _name_label(rows: RowWindow, label: str, source: str, champion: CachedVersion) -> RowWindow:
    """The rows with the column `label` under the name that the tests know.

    Where none is named it is the one of the files that the champion learned from.
    """
    if label == LABEL:
        label = bundle.read_source(champion.folder).get("columns", {}).get(LABEL, LABEL)
        if label == LABEL or label not in rows.rows:
            return rows
    if label not in rows.rows:
        hint = suggest_nearest(label, list(map(str, rows.rows.columns)))
        raise ParamsError(f"--label {label}: {source} has no such column{hint}")
    renamed = rows.rows.drop(columns=LABEL, errors="ignore").rename(columns={label: LABEL})
    return RowWindow(renamed, rows.source)


def _record_outcome(
    outcome: DriftOutcome,
    champion: CachedVersion,
    rows: RowWindow,
    log: str | None,
    read_at: datetime,
    limits: Drift,
) -> DriftOutcome:
    """Write this window's outcome to the journal; the outcome over all windows."""
    name, now = champion.name, datetime.now(UTC)
    digest = hashlib.sha256(f"{champion.bundle} {rows.digest}".encode()).hexdigest()
    found = decision.describe_check(outcome, log, read_at)
    promotion.record_finding(name, "drift", champion.version, champion.bundle, digest, found)
    history = promotion.read_history(name)
    overall = decision.judge_over_time(outcome, history, champion.version, log)
    if overall.verdict != "drift":
        return overall
    _, limit = request_training(champion, "drift", digest, overall.reason, limits, now)
    return DriftOutcome("watch", f"{overall.reason}; {limit}") if limit else overall
