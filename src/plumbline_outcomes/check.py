"""One look at the outcomes of a model: join, score, verdict; with `record`, days are closed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from plumbline import bundle
from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.loading import load_task
from plumbline.contract.params import Params
from plumbline.contract.task import Signature
from plumbline.drift import decision, window
from plumbline.drift.statistical_tests import LABEL, classify_column
from plumbline.registry import promotion
from plumbline.registry.alerts import send_alert
from plumbline.registry.journal import Entry, read_journal
from plumbline.registry.journal_rules import WON, read_facts
from plumbline.registry.reader import find_version
from plumbline.registry.reader.run_files import read_evidence
from plumbline.registry.reader.verified_cache import CachedVersion, VerifiedModelCache
from plumbline.sources.request_folder import RequestFolder
from plumbline_outcomes import closing, drawing, live_score, pairs, trial
from plumbline_outcomes.joining import JoinedRows, ScoreAnswer
from plumbline_outcomes.live_score import LiveVerdict
from plumbline_outcomes.outcome_rows import OutcomesFile, open_outcomes

if TYPE_CHECKING:
    import pandas as pd


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
    plan: trial.Plan | None = None  # of the last trial, and how that ended
    end: str = ""
    history: Sequence[Entry] = ()  # of its model, oldest first

    def is_tried_by(self, kind: str) -> bool:
        """Whether outcomes of this kind decide the last trial."""
        kinds = {"paired": "label", "split": "value"}
        return self.plan is not None and kinds[self.plan.kind] == kind


def open_subject(address: str, params: Params) -> Subject:
    """Fetch the champion and its evidence; ParamsError where its task scores no single answer."""
    version = find_version(address)
    champion = VerifiedModelCache(f"models:/{version.name}/{version.number}").fetch_latest()
    score_answer = getattr(load_task(champion.task).scoring, "score_answer", None)
    if score_answer is None:
        raise ParamsError(
            f"the task {champion.task} cannot score a single answer: add `score_answer(answer, "
            "truth)` to its part scoring (`plumbline docs task-contract`)"
        )
    reference = window.load_reference(version).rows
    labels = reference[LABEL].dropna().astype(str)
    signature = bundle.read_signature(champion.folder)
    with read_journal() as book:
        history = book.read_entries(version.name)
    names = {each.name for each in signature.outputs}
    if LABEL not in names or "labels" in names or classify_column(labels) != "category":
        labels = labels[:0]
    return Subject(
        champion,
        signature,
        bundle.read_source(champion.folder).get("columns", {}),
        score_answer,
        frozenset(labels),
        live_score.read_claim(read_evidence(version), len(reference), params.evaluation.confidence),
        drawing.measure_doubt(reference),
        *trial.find_trial(history),
        history,
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
    import pandas as pd

    name, mature, folder = subject.champion.name, params.outcomes.mature_days, RequestFolder(log)
    history = promotion.read_history(name) if record else subject.history
    given = open_given(subject, folder, outcomes, label)
    closed = closing.list_closed(history, folder.digest, given.kind)
    if subject.plan and not subject.end:
        other = closing.find_other_log(history, folder.digest, subject.plan)
        subject = replace(subject, end=other)
    kept, damage = closing.read_closed(folder, closed)
    if damage and record:
        raise DataError(damage)
    first = closing.find_start(min(closed)) if closed else None
    since = closing.find_start(max(closed)) + timedelta(days=1) if record and closed else None
    joined = JoinedRows(subject, folder, given, now, first=first, since=since)
    num_late, num_answers = joined.count_closed(name, kept)
    if not damage:  # else nobody knows which outcomes are of closed days
        joined.refuse_strangers(num_late)
    is_label = given.kind == "label"  # the evidence says nothing of reactions
    claim, classes = (subject.claim, subject.classes) if is_label else (None, frozenset())
    truths = joined.list_truths()
    rows = joined.collect(subject.score_answer)
    new_classes = find_new_classes(truths, classes)
    if is_label and (not classes or len(new_classes) == len(truths)):
        _refuse_labels(rows["score"].dropna(), truths, classes)
    why_open = damage
    if record:
        for part in kept:  # a retry after its day is the same unit
            rows = rows[~rows["id"].isin(part["id"])]
        days, why_open = closing.list_due(rows, joined.facts, mature, now, accepted)
        plan = subject.plan if subject.is_tried_by(given.kind) and not subject.end else None
        asked = (folder, subject.champion, rows, days, accepted)
        new = closing.close_days(*asked, plan, given.kind, kept)
        added, damage = closing.read_closed(folder, new)
        if damage:
            raise DataError(damage)
        kept += added
        rows = pd.concat(kept, ignore_index=True) if kept else rows[:0]
        closed |= new
    on_trial = None
    if subject.end or subject.is_tried_by(given.kind):
        on_trial = _look_at_trial(subject, rows, closed if record else None, params, now, why_open)
    if not is_label:  # a reaction belongs to the answer that was shown alone
        rows = rows[rows["shown"]]
    groups: Any = rows.groupby("bundle", sort=True)
    marked = {str(key): live_score.mark_deciding(part, params) for key, part in groups}
    scores = {key: live_score.measure(part, params) for key, part in marked.items() if len(part)}
    report: dict[str, Any] = {
        "model": {"name": name, "version": subject.champion.version},
        "kind": given.kind,
        "log": joined.facts.describe() | {"ambiguous": joined.num_ambiguous},
        "outcomes": joined.statuses,
        "empty": joined.num_empty,
        "claim": claim,
        "versions": list(scores.values()),
        "champion": scores.get(subject.champion.bundle),
        "closed": list(closed) if record else [],
        "late": num_late,
        "late_answers": num_answers,
        "open": why_open,
        "new_classes": new_classes,
        "trial": on_trial,
    }
    title = f"{name} version {subject.champion.version}"
    if report["champion"] is None:
        reason = "it answered no row of this log"
        if record:
            reason = f"no day with its answers is older than outcomes.mature_days ({mature}) yet"
        return report | {"verdict": "too few rows", "reason": f"{title}: {reason}"}
    own = marked[subject.champion.bundle]
    verdict, reason = live_score.judge(report["champion"], own, claim, params)
    if record and verdict == "worse":
        digest = closed[max(closed)].evidence
        verdict, reason = _request_training(subject, digest, history, reason, params, now)
    slices = live_score.list_slices(own, params)
    return report | {
        "verdict": verdict,
        "reason": f"{title}: {reason}",
        "slices": slices,
        "gap": live_score.describe_gap(slices, params),
        "coverage": live_score.list_coverage(own),
        "delay": live_score.measure_delay(own),
        "volunteered": live_score.describe_volunteered(own),
    }


def name_winner(subject: Subject, report: Mapping[str, Any]) -> dict[str, str]:
    """Name what CI asks approval for where a look ended a trial that was won; else nothing."""
    plan, found = subject.plan, report["trial"] or {"verdict": ""}
    is_won = plan and found["verdict"] in WON and found.get("end", "").startswith(found["verdict"])
    if not plan or not is_won:
        return {}
    own = subject.champion
    return {
        "won": plan.version,
        "bundle": plan.bundle,
        "model": own.name,
        "champion": own.version,
    }


def _look_at_trial(
    subject: Subject,
    rows: "pd.DataFrame",
    closed: Mapping[str, Entry] | None,
    params: Params,
    now: datetime,
    why_open: str,
) -> dict[str, Any] | None:
    """Look at the last trial by all `rows`, or by the journal's counts of `closed` days.

    The latter is recorded where the trial ends by it.
    """
    plan, end = subject.plan, subject.end
    if plan is None:
        return None
    if end:
        return {"trial": plan.number, "verdict": end, "told": f"trial {plan.number}: {end}"}
    if closed is None:
        return pairs.look(plan, rows, [pairs.count(rows, plan)], params, now)
    counts = [read_facts(entry).get("pairs", {}) for entry in closed.values()]
    days = [day for day in counts if day.get("trial") == plan.number]
    found = pairs.look(plan, rows, days, params, now)
    found["is_over"] &= not why_open  # days that stay open still count
    end = trial.record(subject.champion.name, plan, found)
    return found | {"end": end}


def open_given(subject: Subject, folder: RequestFolder, outcomes: str, label: str) -> OutcomesFile:
    """Open a file of outcomes, whose labels may be called as the champion's training data did."""
    folder.list_log()  # says what is missing before outcomes are opened
    own = subject.columns
    inputs = [each.name for each in subject.signature.inputs]
    ignored = {*inputs, *(own.get(name, name) for name in inputs)}
    labels = (label or own.get(LABEL, LABEL), label or LABEL)
    return open_outcomes(outcomes, labels, ignored)


def find_new_classes(truths: list[str], classes: frozenset[str]) -> list[str]:
    """List truths that are none of `classes`; DataError where blanks or case alone differ."""
    folded = {_fold(name): name for name in sorted(classes)}
    new = [truth for truth in truths if classes and truth not in classes]
    meant = {truth: folded.get(_fold(truth)) for truth in new}
    pairs = [f"{truth!r:.60} for {name!r:.60}" for truth, name in meant.items() if name]
    if pairs:
        raise DataError(
            f"{len(pairs):,} labels are not written as the classes of the model are: "
            f"{', '.join(pairs[:5])}; write the class in the outcomes"
        )
    return new


def _refuse_labels(scores: "pd.Series", truths: list[str], classes: frozenset[str]) -> None:
    """DataError where none of many labels, none of which is known, makes an answer right."""
    if len(scores) < live_score.MIN_WHOLE or scores.any():
        return
    given, known = (
        ", ".join(f"{name!r:.60}" for name in names[:5]) for names in (truths, sorted(classes))
    )
    classes_told = f", whose classes are such as {known}" if classes else ""
    raise DataError(
        f"none of {len(scores):,} answers is right by labels such as {given}; is it the right "
        f"column (--label), written as the model answers{classes_told}? If so, the model knows "
        "nothing: `plumbline rollback`"
    )


def _fold(name: str) -> str:
    return name.strip().casefold().removesuffix(".0")


def _request_training(
    subject: Subject,
    digest: str,
    history: Sequence[Entry],
    reason: str,
    params: Params,
    now: datetime,
) -> tuple[LiveVerdict, str]:
    """Request training for the closed day with this digest, within the limits that drift has."""
    limit = decision.find_limit_reached(history, params.drift, now)
    if ("retrain", digest) in [(entry.action, entry.evidence) for entry in history]:
        limit = "training was already requested for these days"
    if limit:
        return "watch", f"{reason}; {limit}"
    name, own = subject.champion.name, (subject.champion.version, subject.champion.bundle, digest)
    entry = promotion.record_finding(name, "retrain", *own, f"outcomes: {reason}")
    send_alert(entry, "worse")
    return "worse", f"{reason}; training requested, journal entry {entry.number}"
