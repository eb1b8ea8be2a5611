"""One look at the outcomes of a model: join, score, verdict; with `record`, days are closed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.loading import load_task
from plumbline.contract.params import Params
from plumbline.contract.task import Signature
from plumbline.drift import window
from plumbline.drift.statistical_tests import LABEL, classify_column
from plumbline.drift.training_request import request_training
from plumbline.registry.journal import Entry, read_journal
from plumbline.registry.journal_rules import WON
from plumbline.registry.reader import find_version
from plumbline.registry.reader.run_files import read_evidence
from plumbline.registry.reader.verified_cache import CachedVersion, VerifiedModelCache
from plumbline.sources.request_folder import RequestFolder
from plumbline_outcomes import closing, drawing, live_score, trial, trial_look
from plumbline_outcomes.closing import ClosedDays
from plumbline_outcomes.joining import JoinedRows, ScoreAnswer
from plumbline_outcomes.outcome_rows import OutcomesFile, open_outcomes

if TYPE_CHECKING:
    import pandas as pd

FindUnknown = Callable[[Sequence[str], Path], Mapping[str, str]]  # as in the contract of tasks


@dataclass(frozen=True)
class Subject:
    """The champion, how its answers are scored, and what its evidence claims."""

    champion: CachedVersion
    signature: Signature
    columns: Mapping[str, str]  # what the files that it learned from call its inputs and labels
    score_answer: ScoreAnswer
    classes: frozenset[str]  # that labels may be; empty where they are not of a few classes
    claim: tuple[float, float] | None  # the share of right answers, and its lower end
    # Mean doubt of its answers to the held-out rows; 0 where they have no confidence.
    doubt: float = 0.0
    plan: trial.Plan | None = None  # of the last trial
    history: Sequence[Entry] = ()  # of its model, oldest first
    find_unknown: FindUnknown | None = None  # of a task whose labels are not of a few classes


def open_subject(address: str, params: Params) -> Subject:
    """Fetch the champion and its evidence; ParamsError where its task scores no single answer."""
    version = find_version(address)
    champion = VerifiedModelCache(f"models:/{version.name}/{version.number}").fetch_latest()
    scoring: Any = load_task(champion.task).scoring
    if not hasattr(scoring, "score_answer"):
        raise ParamsError(
            f"the task {champion.task} cannot score a single answer: add `score_answer(answer, "
            "truth)` to its part scoring (`plumbline docs task-contract`)"
        )
    reference = window.load_reference(version).rows
    labels = reference[LABEL].dropna().astype(str)
    signature = bundle.read_signature(champion.folder)
    names = {each.name for each in signature.outputs}
    if LABEL not in names or "labels" in names or classify_column(labels) != "category":
        labels = labels[:0]
    with read_journal() as book:
        history = book.read_entries(version.name)
    return Subject(
        champion,
        signature,
        bundle.read_source(champion.folder).get("columns", {}),
        scoring.score_answer,
        frozenset(labels),
        live_score.read_claim(read_evidence(version), len(reference), params.evaluation.confidence),
        drawing.measure_doubt(reference),
        trial.find_trial(history),
        history,
        getattr(scoring, "find_unknown", None),
    )


def check_outcomes(
    subject: Subject,
    log: str,
    outcomes: str,
    params: Params,
    now: datetime,
    *,
    label: str = "",
    record: bool = False,
    accepted: str = "",
) -> dict[str, Any]:
    """Join `outcomes` to `log` and judge the champion; the report has all that was found.

    `record`: days that are old enough are closed first, and they alone decide; where they say
    worse, training is requested in the journal. `accepted` says why days with missing files may be
    closed. DataError says what is wrong with the files.
    """
    folder, own = RequestFolder(log), subject.champion
    given = open_given(subject, folder, outcomes, label)
    days = ClosedDays(own, folder, given.kind, subject.history)
    if days.damage and record:
        raise DataError(days.damage)
    starts = [datetime.fromisoformat(f"{day}T00:00+00:00") for day in days.entries]
    since = max(starts) + timedelta(days=1) if record and starts else None
    first = min(starts, default=None)
    joined = JoinedRows(subject, folder, given, now, first=first, since=since)
    report = _describe_join(joined, days)
    rows, report["new_classes"] = _score_rows(subject, joined)
    plan = _find_plan(subject, folder, given.kind)
    if record:
        gaps = [] if accepted else joined.facts.list_gaps()
        last = now.date() - timedelta(params.outcomes.mature_days + 1)
        rows, report["open"] = days.close(rows, last, gaps, plan, accepted)
        report["closed"] = list(days.entries)
    if plan:
        counts = days.list_counts(plan) if record else None
        report["trial"] = trial_look.look(plan, rows, counts, params, now)
    if plan and record and not plan.ended:  # days that stay open still count
        end = trial.end_trial(own.name, plan, report["trial"], is_whole=not report["open"])
        report["trial"]["end"] = end
    report |= _judge_champion(subject, rows, given.kind, params)
    report["gap"] = report.get("gap") or given.describe_absent(params)
    if record:
        report |= _draw_conclusion(subject, days, report, params, now)
    reason = f"{own.name} version {own.version}: {report['reason']}"
    return report | {"model": {"name": own.name, "version": own.version}, "reason": reason}


def name_winner(report: Mapping[str, Any]) -> dict[str, str]:
    """Name what CI asks approval for where a look ended a trial that was won; else nothing."""
    found, model = report["trial"] or {}, report["model"]
    verdict = found.get("verdict")
    if verdict not in WON or not found.get("end", "").startswith(verdict):
        return {}
    names = {"model": model["name"], "champion": model["version"]}
    return {"won": found["version"], "bundle": found["bundle"]} | names


def find_exit_code(report: Mapping[str, Any]) -> int:
    """The exit code of a look: a trial that cannot tell is in doubt where the champion is not."""
    verdict, on_trial = report["verdict"], report["trial"] or {}
    if on_trial.get("verdict") == "cannot tell" and verdict in ("holds", "too few rows"):
        verdict = "cannot tell"
    return live_score.EXIT_CODES[verdict]


def open_given(subject: Subject, folder: RequestFolder, outcomes: str, label: str) -> OutcomesFile:
    """Open a file of outcomes, whose labels may be called as the champion's training data did."""
    folder.list_log()  # says what is missing before outcomes are opened
    own = subject.columns
    inputs = [each.name for each in subject.signature.inputs]
    ignored = {*inputs, *(own.get(name, name) for name in inputs)}
    labels = (label or own.get(LABEL, LABEL), label or LABEL)
    return open_outcomes(outcomes, labels, ignored)


def find_new_classes(truths: list[str], subject: Subject) -> list[str]:
    """List truths that no answer can be; DataError where only their spelling differs."""
    if subject.find_unknown:
        unknown = subject.find_unknown(truths, subject.champion.folder)
    else:
        classes = subject.classes
        folded = {_fold(name): name for name in sorted(classes)}
        new = [truth for truth in truths if classes and truth not in classes]
        unknown = {truth: folded.get(_fold(truth), "") for truth in new}
    pairs = [f"{truth[:120]!r} for {name[:120]!r}" for truth, name in unknown.items() if name]
    if pairs:
        raise DataError(
            f"{len(pairs):,} labels are not written as the model's answers are: "
            f"{', '.join(pairs[:3])}; write them so in the outcomes"
        )
    return list(unknown)


def _fold(name: str) -> str:
    return name.strip().casefold().removesuffix(".0")


def _describe_join(joined: JoinedRows, days: ClosedDays) -> dict[str, Any]:
    """Count what is joined, late or in doubt; DataError where too many ids are unknown."""
    num_late, num_answers = joined.count_closed(days.model, days.rows)
    if not days.damage:  # else nobody knows which outcomes are of closed days
        joined.refuse_strangers(num_late)
    return {
        "kind": joined.kind,
        "log": joined.facts.describe() | {"ambiguous": joined.num_ambiguous},
        "outcomes": joined.statuses,
        "empty": joined.num_empty,
        "closed": [],
        "late": num_late,
        "late_answers": num_answers,
        "open": days.damage,
        "trial": None,
    }


def _score_rows(subject: Subject, joined: JoinedRows) -> tuple["pd.DataFrame", list[str]]:
    """Score the rows, and list new classes; DataError for labels that cannot be right.

    They cannot where none of many makes an answer right and none is known.
    """
    truths, classes = joined.list_truths(), subject.classes
    rows = joined.collect(subject.score_answer)
    if joined.kind != closing.LABEL:
        return rows, []
    scores, new_classes = rows["score"].dropna(), find_new_classes(truths, subject)
    is_known = (classes or subject.find_unknown) and len(new_classes) < len(truths)
    if is_known or len(scores) < live_score.MIN_WHOLE or scores.any():
        return rows, new_classes
    given, known = (
        ", ".join(repr(name[:60]) for name in names[:5]) for names in (truths, sorted(classes))
    )
    classes_told = f", and the model answers such as {known}" if classes else ""
    raise DataError(
        f"none of {len(scores):,} answers is right: labels are such as {given}{classes_told}. "
        "Check the column (--label) and the spelling; if both are right, the model knows nothing: "
        "`plumbline rollback`"
    )


def _find_plan(subject: Subject, folder: RequestFolder, kind: str) -> trial.Plan | None:
    """The plan of the last trial, if it has ended, or outcomes of this kind decide it."""
    plan = subject.plan
    if plan and not plan.ended:
        plan = replace(plan, ended=trial.find_end(plan, subject.history, folder.digest))
    return plan if plan and (plan.ended or plan.is_split != (kind == closing.LABEL)) else None


def _judge_champion(
    subject: Subject, rows: "pd.DataFrame", kind: str, params: Params
) -> dict[str, Any]:
    """Measure all versions, and judge the champion."""
    claim = subject.claim
    if kind != closing.LABEL:  # it belongs to the answer that was shown, and evidence knows none
        rows, claim = rows[rows["shown"]], None
    groups: Any = rows.groupby("bundle", sort=True)
    limits = (params.outcomes.sample, params.outcomes.min_coverage)
    marked = {str(key): live_score.mark_deciding(part, *limits) for key, part in groups}
    scores = {key: live_score.measure(part, params) for key, part in marked.items() if len(part)}
    score = scores.get(subject.champion.bundle)
    found = {"claim": claim, "versions": list(scores.values()), "champion": score}
    if score is None:
        return found | {"verdict": "too few rows", "reason": "it answered no row of this log"}
    own = marked[subject.champion.bundle]
    verdict, reason = live_score.judge(score, own, claim, params)
    slices = live_score.list_slices(own, params)
    return found | {
        "verdict": verdict,
        "reason": reason,
        "slices": slices,
        "gap": live_score.describe_gap(slices, params),
        "coverage": live_score.list_coverage(own),
        "delay": live_score.measure_delay(own),
        "volunteered": live_score.measure_volunteered(own),
    }


def _draw_conclusion(
    subject: Subject, days: ClosedDays, found: Mapping[str, Any], params: Params, now: datetime
) -> dict[str, Any]:
    """What follows from closed days: training is requested where the champion is worse."""
    if found["champion"] is None:
        limit = f"outcomes.mature_days ({params.outcomes.mature_days})"
        return {"reason": f"no day with its answers is older than {limit} yet"}
    if found["verdict"] != "worse":
        return {}
    digest, reason = days.entries[max(days.entries)].evidence, found["reason"]
    asked = (digest, f"outcomes: {reason}", params.drift, now)
    entry, limit = request_training(subject.champion, "worse", *asked)
    if entry is None:
        return {"verdict": "watch", "reason": f"{reason}; {limit}"}
    return {"reason": f"{reason}; training requested, journal entry {entry.number}"}
