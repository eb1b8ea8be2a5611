"""Gates on the data: accepted, covering all, without leaks, on the champion's test split?"""

import json
from typing import TYPE_CHECKING

from plumbline.contract import layout
from plumbline.contract.records import Leak
from plumbline.contract.task import LABEL_SET, RIGHT_ANSWER, SPLITS
from plumbline.evidence.gates.question import GateQuestion, Ruling, name_status
from plumbline.statistics import independent, intervals, power

if TYPE_CHECKING:
    import pandas as pd

LEAK_WORDS = {
    "exact": "are word for word in an earlier split",
    "near": "are nearly word for word in an earlier split, or again in their own",
    "group": "have others of their group in an earlier split",
    "copy": "repeat another one of their split, which would count twice",
}
WAY_OUT = (
    "If another test split is meant, set evaluation.max_test_changes to 1.0 for one run; "
    "the verdict lists it"
)


def check_accepted(question: GateQuestion) -> Ruling:
    """Pass if validation accepted the scored manifest, with the suite that params ask for."""
    report = question.data.validation
    for name, path in (("manifest", layout.MANIFEST), ("examples", layout.EXAMPLES)):
        if report[name] != question.data.digests[name]:
            return Ruling("fail", f"{path} is not what was validated; run `dvc repro`")
    if report["suite"] != question.data.suite:
        return Ruling(
            "fail", "validation did not run all checks of params.yaml; run `dvc repro -f validate`"
        )
    blocking = [check for check in report["checks"] if check["severity"] == "blocking"]
    all_passed = all(check["passed"] is True for check in blocking)
    if report["accepted"] is not True or not all_passed:
        return Ruling("fail", "validation rejected this data; see reports/validation.html")
    return Ruling("pass", "validation accepted exactly these data")


def check_coverage(question: GateQuestion) -> Ruling:
    """Pass if every split holds every class, and the test split more than one answer.

    Of rows with sets of labels, each label is a class; not every set is in every split. Where a
    manifest has right answers beside labels, labels are strata: one may be missing, or be the only
    one. A constant is perfect where all answers are equal.
    """
    if RIGHT_ANSWER in question.table.rows:
        return _check_answers_differ(question)
    rows = question.table.rows
    labels = _list_classes(rows)
    classes = set().union(*labels.values())
    missing = []
    for split in SPLITS:
        for label in sorted(classes - labels.get(split, set())):
            missing.append(f"{label} in {split}")
    if rows.loc[rows["split"] == "test", "label"].nunique() < 2:
        kind = "sets of labels" if LABEL_SET in rows else "classes"
        return Ruling(
            "fail",
            f"the test split holds fewer than two {kind}: any constant answer is perfect there",
        )
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        return Ruling("fail", f"no examples of {', '.join(missing[:3])}{more}", len(missing), 0)
    return Ruling("pass", f"every split holds all {len(classes)} classes", 0, 0)


def _list_classes(manifest: "pd.DataFrame") -> dict[str, set[str]]:
    """Map each split to its classes: what its rows have as label, or as one of several."""
    labels = manifest["label"]
    if LABEL_SET in manifest:
        labels = manifest[LABEL_SET].map(json.loads).explode().dropna()
    return {split: set(own) for split, own in labels.groupby(manifest["split"])}


def _check_answers_differ(question: GateQuestion) -> Ruling:
    rows = question.table.rows
    num_answers = rows.loc[rows["split"] == "test", RIGHT_ANSWER].nunique()
    if num_answers < 2:
        reason = "all test examples have one right answer: a constant is perfect there"
        return Ruling("fail", reason, num_answers, 2)
    return Ruling("pass", f"the test split has {num_answers:,} different right answers", 0, 0)


def check_leakage(question: GateQuestion) -> Ruling:
    """Fail if significantly more of a held-out split than allowed is in an earlier one, or twice.

    Where the limit is 0, a single row is.
    """
    if not question.data.leaks:
        raise ValueError("the task looked for no leak")
    limits = question.limits.max_leakage.model_dump() | {"copy": 0.0}  # ingest leaves none

    def rank(leak: Leak) -> tuple[bool, float]:
        return _is_beyond(leak, limits[leak.kind]), leak.num_leaked / leak.num_rows

    worst = max(question.data.leaks, key=rank)
    share = worst.num_leaked / worst.num_rows
    limit = limits[worst.kind]
    interval = intervals.compute_proportion_interval(
        worst.num_leaked, worst.num_rows, power.DISPROOF_CONFIDENCE
    )
    reason = (
        f"{worst.num_leaked:,} of {worst.num_rows:,} {worst.split} examples "
        f"{LEAK_WORDS[worst.kind]}"
    )
    if _is_beyond(worst, limit):
        examples = "; ".join(worst.examples[:3])
        return Ruling("fail", f"{reason}: {examples}".removesuffix(": "), share, limit, interval)
    if share > limit:
        reason += f": too few to tell whether that is more than {limit:.1%}"
    return Ruling("pass", reason, share, limit, interval)


def _is_beyond(leak: Leak, limit: float) -> bool:
    return leak.num_leaked > power.count_explained_rows(leak.num_rows, limit)


def check_consistency(question: GateQuestion) -> Ruling:
    """Pass if the winner's scores on test and on validation differ by no more than chance allows.

    The two splits share no row. Where one is of another kind, or was chosen to please, or where
    the winner knows one of them, the scores part.
    """
    test = question.winner
    validation = question.best.validation.per_example[question.metric.name]
    limit = question.limits.max_validation_gap
    interval = independent.compute_difference_interval(
        test, validation, question.metric.kind, power.DISPROOF_CONFIDENCE
    )
    difference = float(test.mean() - validation.mean())
    reason = (
        f"{test.mean():.4f} on test ({test.size:,} rows), {validation.mean():.4f} on validation "
        f"({validation.size:,}): {difference:+.4f}, {interval.low:+.4f} to {interval.high:+.4f} "
        f"at {power.DISPROOF_CONFIDENCE:.1%}"
    )
    if interval.low <= limit and interval.high >= -limit:
        return Ruling("pass", reason, difference, limit, interval)
    side = "above" if question.metric.sign * difference > 0 else "below"
    reason += f"; further {side} than evaluation.max_validation_gap ({limit:g})"
    return Ruling("fail", reason, difference, limit, interval)


def check_test_split(question: GateQuestion) -> Ruling:
    """Pass if no more than a share of the champion's test rows is gone or not as it was.

    Not as it was: in another split, relabelled, changed, or in another group of a slice column.

    Rows that were added are reported and not limited: data that grow add some to every split. A
    class that was renamed as a whole counts as the same class, since the champion's answers are
    compared under the new name (`evidence.champion`). Rows of another split that are test
    rows now, with another content or label, count as changed.
    """
    if question.known is None:
        return Ruling("not-applicable", "there is no champion to compare with")
    limit = question.limits.max_test_changes
    if question.known.changes is None:
        reason = "the champion's manifest is not in the registry: its test rows are not known"
        if limit < 1:
            return Ruling("fail", f"{reason}. {WAY_OUT}", None, limit)
        return Ruling("pass", reason, None, limit)
    changes = question.known.changes["data"]
    counts = changes["splits"]["test"]
    share = min(1.0, counts["altered"] / max(1, counts["before"]))
    reason = (
        f"the champion had {counts['before']:,} test rows; {counts['altered']:,} rows were "
        f"changed, relabelled, deleted or moved, {counts['added'] + counts['moved_in']:,} are new"
    )
    renames = changes["renames"]
    if renames:
        old, new = next(iter(renames.items()))
        reason += f"; {len(renames)} classes are called otherwise now ({old!r} is {new!r})"
    status = name_status(share <= limit)
    if status == "fail":
        reason += f"; at most {limit:.0%} may be gone or other than they were. {WAY_OUT}"
    return Ruling(status, reason, share, limit)
