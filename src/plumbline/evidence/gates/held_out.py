"""Gate on the test split itself: is it still the one on which the champion was judged?"""

from collections.abc import Mapping
from typing import Any

from plumbline.evidence.gates.question import GateQuestion, Ruling, Status

WAY_OUT = (
    "If another test split is meant, set evaluation.max_test_changes to 1.0 for one run; "
    "the verdict lists it"
)


def check_test_split(question: GateQuestion) -> Ruling:
    """Pass if no more than a share of the champion's test rows is gone or not as it was.

    That is in another split, relabelled, changed, or in another group of a column of slices.

    Rows that were added are reported and not limited: data that grow add some to every split. A
    class that was renamed as a whole counts as the same class, since the champion's answers are
    compared under the new name (`evidence.champion`). Rows of another split that are test
    rows now, with another content or label, count as changed.
    """
    if question.champion is None:
        return Ruling("not-applicable", "there is no champion to compare with")
    limit = question.limits.max_test_changes
    if question.data_changes is None:
        reason = "the champion's manifest is not in the registry: its test rows are not known"
        if limit < 1:
            return Ruling("fail", f"{reason}. {WAY_OUT}", None, limit)
        return Ruling("pass", reason, None, limit)
    counts = question.data_changes["splits"]["test"]
    share = min(1.0, counts["altered"] / max(1, counts["before"]))
    reason = _describe_changes(counts)
    renames = question.data_changes.get("renames", {})
    if renames:
        old, new = next(iter(renames.items()))
        reason += f"; {len(renames)} classes are called otherwise now ({old!r} is {new!r})"
    status: Status = "pass" if share <= limit else "fail"
    if status == "fail":
        reason += f"; at most {limit:.0%} may be gone or other than they were. {WAY_OUT}"
    return Ruling(status, reason, share, limit)


def _describe_changes(counts: Mapping[str, Any]) -> str:
    relabelled = counts["relabelled"] - counts["renamed"]
    return (
        f"{counts['altered']:,} test rows are not as they were, where the champion had "
        f"{counts['before']:,}: {counts['removed']:,} are gone, {counts['moved_out']:,} are in "
        f"another split, {relabelled:,} are relabelled, {counts['changed']:,} have other content, "
        f"{counts['regrouped']:,} are in other groups; "
        f"{counts['added'] + counts['moved_in']:,} are new"
    )
