"""Gates on the model as it will run: calibrated, affordable, equal once packaged."""

import math
from typing import Any

from plumbline.contract.params import TRAINED_FORM
from plumbline.evidence.gates.question import GateQuestion, Ruling, name_status
from plumbline.evidence.scores import name_answers
from plumbline.statistics.parity import is_disproved

BUSY = 1.5  # times as long as alone: from here on, other programs were in the way
LONGEST_FACTOR = 10  # of the limit for an ordinary row: so long may the longest input take


def check_calibration(question: GateQuestion) -> Ruling:
    """Fail if confidence and accuracy differ significantly more than allowed on held-out rows.

    That is where a model that is as far off as params.yaml allows hardly shows so large an error.
    """
    limit = question.limits.max_calibration_error
    if limit is None:
        return Ruling("not-applicable", "evaluation.max_calibration_error in params.yaml is null")
    if question.calibration is None:
        raise ValueError(
            "the predictor gives no confidence; set evaluation.max_calibration_error to null"
        )
    found = question.calibration
    measured, highest, what = found.error, found.highest, "confidence and accuracy"
    if found.bias > found.highest_bias:
        measured, highest, what = found.bias, found.highest_bias, "mean confidence and accuracy"
    reason = f"{what} are {measured:.4f} apart on the test rows, allowed: {limit}"
    if measured > limit:
        reason += f"; a model that is off by that in the same way shows up to {highest:.4f} on them"
    return Ruling(name_status(measured <= highest), reason, measured, highest)


def check_budget(question: GateQuestion) -> Ruling:
    """Pass if time, memory and size keep their limits; measured is the largest share of a limit.

    Of times counts what a call takes at least on a machine that does nothing else, so that a busy
    one refuses no model; it is named.
    """
    limits = question.limits.budget
    cost = question.cost
    longest_ms = limits.one_p95_ms and LONGEST_FACTOR * limits.one_p95_ms
    rows = (
        ("p95 of one row", cost["one_p95"], limits.one_p95_ms, "ms"),
        ("p95 of 32 rows", cost["batch_p95"], limits.batch_p95_ms, "ms"),
        ("the longest input", cost["longest"], longest_ms, "ms"),
        ("memory", cost["rss_mb"], limits.rss_mb, "MB"),
        ("bundle", cost["num_bytes"] / 1e6, limits.bundle_mb, "MB"),
        ("cost of an answer", cost["answer"], limits.cost, question.metric.cost_unit),
    )
    if not all(math.isfinite(value) for _, value, _, _ in rows):
        raise ValueError(f"not all costs were measured: {dict(cost)}")
    worst, reason = None, ""
    for name, value, limit, unit in rows:
        if limit and (worst is None or value / limit > worst):
            worst = value / limit
            reason = f"closest to its limit: {name}, {value:.4g} of {limit:g} {unit}"
    if worst is None:
        return Ruling("not-applicable", "evaluation.budget in params.yaml sets no limit")
    slowdown = cost["slowdown"]
    if slowdown > BUSY:
        reason += (
            f"; measured on a busy machine, where calls took {slowdown:.1f} times as long as they "
            "count: run evaluate again on a quiet one for exact times"
        )
    return Ruling(name_status(worst <= 1), reason, worst, 1)


def check_parity(question: GateQuestion) -> Ruling:
    """Fail if the served form is significantly worse than allowed against `fp32`.

    That it is not was shown on validation, where it was chosen: to demand the same of other rows
    again would refuse forms that lose nothing.
    """
    limits = question.limits.parity
    form = question.runtime.forms[0]["name"]
    parity = question.parity
    if parity is None:
        return Ruling("not-applicable", f"{form} is served, the form that was trained")
    max_loss = -limits.max_loss
    reason = (
        f"{form}: {parity.gain:+.4f} against {TRAINED_FORM}, "
        f"{parity.interval.low:+.4f} to {parity.interval.high:+.4f}"
    )
    if parity.agreement is not None:
        reason += (
            f"; both give the same answer on {parity.agreement:.2%} of {parity.num_rows:,} rows"
        )
    reason += f"; limits: {max_loss:+g} and {limits.min_agreement:.0%}"
    if not is_disproved(parity, limits):
        return Ruling("pass", reason, parity.gain, max_loss, parity.interval)
    reason += ": significantly beyond"
    if parity.interval.high < max_loss:
        return Ruling("fail", reason, parity.gain, max_loss, parity.interval)
    return Ruling("fail", reason, parity.agreement, limits.min_agreement)


def describe_forms(question: GateQuestion) -> dict[str, Any]:
    """Describe the winner in each form; `p50` and `p95` are of one row, the others of a batch."""
    described = []
    scores, parity = question.best.test, question.parity
    for number, form in enumerate(question.runtime.forms):
        if number:
            scores = question.table.select("form")[name_answers(question.best.name, form["name"])]
        low, high = question.estimate_score(scores)
        figures = {
            "served": number == 0,
            "score": float(scores.per_example[question.metric.name].mean()),
            "low": low,
            "high": high,
            "agreement": None if number or parity is None else parity.agreement,
        }
        described.append(dict(form) | figures)
    return {"forms": described}


def check_export(question: GateQuestion) -> Ruling:
    """Pass if all that follows from the trained weights does, but for rounding."""
    if not question.runtime.export:
        return Ruling("not-applicable", "the predictor reads the trained weights itself")
    differences = question.runtime.export
    beyond = [each for each in differences if not each.largest <= each.limit]  # or NaN
    worst = (beyond or differences)[0]
    reason = (
        f"{worst.form} differs by {worst.largest:.2g} from what weights and params give; "
        f"rounding explains {worst.limit:.2g}"
    )
    return Ruling(name_status(not beyond), reason, worst.largest, worst.limit)


def check_answers(question: GateQuestion) -> Ruling:
    """Pass if no answer to a held-out row contradicts itself, by the rules of the task."""
    problems = question.runtime.answers
    if not problems:
        return Ruling("pass", "every answer keeps the rules of the task", 0, 0)
    more = f"; and {len(problems) - 1:,} more" if len(problems) > 1 else ""
    return Ruling("fail", f"{problems[0]}{more}", len(problems), 0)


def check_replay(question: GateQuestion) -> Ruling:
    """Pass if the package, in a clean process, answers as measured and refuses faulty input.

    As measured: all held-out rows in another order, in other batches, and many of them alone.
    """
    problems = question.runtime.rehearsal["problems"]
    if problems:
        return Ruling("fail", "; ".join(problems), len(problems), 0)
    reason = "the package answers in a clean process as measured, and refuses faulty input"
    return Ruling("pass", reason, 0, 0)
