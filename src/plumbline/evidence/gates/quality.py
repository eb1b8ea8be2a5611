"""Gates on the score: is it better than nothing, possible, honest and high enough?"""

import numpy as np

from plumbline.evidence import compare
from plumbline.evidence.gates.question import GateQuestion, Ruling, Status, name_status
from plumbline.statistics import intervals
from plumbline.statistics.power import DISPROOF_CONFIDENCE, count_explained_rows

CONTROL_SHARE = 0.2  # of the winner's gain over the best trivial predictor
ROUNDING = 1e-9  # by which a score may be beyond its row's limit


def check_baselines(question: GateQuestion) -> Ruling:
    """Pass if the gain over the best baseline is enough, and the simple candidate is no better.

    The simple candidate was beaten on validation, where the winner was chosen. To demand the same
    of the test split again would choose on it.
    """
    name, baseline = question.best_baseline
    winner, metric = question.winner, question.metric
    gain, interval = compare.measure_gain(winner, baseline, metric, question.limits.confidence)
    share = question.limits.min_gain_over_baseline
    margin = compare.compute_margin(float(baseline.mean()), share, metric)
    reason = (
        f"{gain:+.4f} over {name} ({baseline.mean():.4f}), at least {interval.low:+.4f}; "
        f"required: {margin:+.4f}, {share:.0%} of what {name} leaves to gain"
    )
    if interval.low < margin:
        return Ruling("fail", reason, gain, margin, interval)
    reason += f"; {question.choice.reason}"
    if question.simple is None:
        return Ruling("pass", reason, gain, margin, interval)
    name = question.limits.simple_candidate or ""
    more, over = compare.measure_gain(winner, question.simple, metric, DISPROOF_CONFIDENCE)
    reason += (
        f"; on test {more:+.4f} over {name} ({question.simple.mean():.4f}), "
        f"{over.low:+.4f} to {over.high:+.4f}"
    )
    if over.high < 0:
        reason += f": significantly worse than {name}, so validation and test disagree"
        return Ruling("fail", reason, gain, margin, over)
    return Ruling("pass", reason, gain, margin, interval)


def check_bounds(question: GateQuestion) -> Ruling:
    """Fail if the score is significantly better than is possible: then something leaks."""
    bound = question.table.bound
    limit = bound.limit
    if limit is None:
        return Ruling("not-applicable", bound.reason)
    if not isinstance(limit, float | int):
        return _check_bound_of_each_row(question, limit)
    interval = intervals.compute_mean_interval(
        question.winner, question.metric.kind, DISPROOF_CONFIDENCE
    )
    num_rows, right = question.winner.size, float(question.winner.sum())
    if question.metric.kind == "binary":
        is_beyond = right > count_explained_rows(num_rows, limit)
    elif question.metric.higher_is_better:
        is_beyond = interval.low > limit
    else:
        is_beyond = interval.high < limit
    judgement = "is too good to be true" if is_beyond else "is possible"
    reason = f"{question.score:.4f} {judgement}: {bound.reason}"
    return Ruling(name_status(not is_beyond), reason, question.score, limit, interval)


def _check_bound_of_each_row(question: GateQuestion, limits: np.ndarray) -> Ruling:
    """Compare each score with the limit of its row [rows], and both means pair by pair.

    Rows differ far more from each other than a score from its limit, so pairs show a smaller leak.
    """
    bound = question.table.bound
    gain, interval = compare.measure_gain(
        question.winner, limits, question.metric, DISPROOF_CONFIDENCE
    )
    beyond = question.metric.sign * (question.winner - limits)
    num_beyond = int((beyond > ROUNDING).sum())
    mean = float(limits.mean())
    status: Status = "pass"
    judgement = "is possible"
    if bound.exact and num_beyond:
        status = "fail"
        judgement = f"is too good to be true on {num_beyond} of {limits.size} rows"
    elif interval.low > ROUNDING:
        status = "fail"
        judgement = f"is too good to be true, by {gain:.4f}, at least {interval.low:.4f}"
    reason = f"{question.score:.4f} (at best {mean:.4f}) {judgement}: {bound.reason}"
    return Ruling(status, reason, question.score, mean, question.score_interval)


def check_control(question: GateQuestion) -> Ruling:
    """Fail if a model trained on shuffled answers has a significant part of the winner's gain.

    One shuffle may be lucky by a little, on every test example in the same way; what leaks is worth
    more than luck.
    """
    missing = sorted(set(question.named_controls) - question.controls.keys())
    if missing:
        return Ruling("fail", f"no answers of {', '.join(missing)}, trained on shuffled answers")
    if not question.controls:
        return Ruling("not-applicable", "control.candidates in params.yaml names none")
    name, baseline = question.best_baseline
    metric = question.metric
    gains = {}
    for control, scores in question.controls.items():
        gains[control] = compare.measure_gain(scores, baseline, metric, DISPROOF_CONFIDENCE)
    own = compare.measure_gain(question.winner, baseline, metric, DISPROOF_CONFIDENCE)
    limit = max(0.0, CONTROL_SHARE * own.mean)
    worst = max(gains, key=lambda control: gains[control].interval.low)
    gain, interval = gains[worst]
    reason = (
        f"{worst}, trained on shuffled answers, scores {question.controls[worst].mean():.4f}; "
        f"{name} {baseline.mean():.4f}"
    )
    if interval.low > limit:
        reason += ": it learned from what it should not see"
        return Ruling("fail", reason, gain, limit, interval)
    return Ruling("pass", reason, gain, limit, interval)


def check_floor(question: GateQuestion) -> Ruling:
    """Pass if the worse end of the score's interval still reaches the floor."""
    name = question.metric.name
    limit = question.limits.floor
    interval = question.score_interval
    is_enough = compare.is_floor_reached(interval, question.metric, limit)
    bound = f"at most {interval.high:.4f}"
    if question.metric.higher_is_better:
        bound = f"at least {interval.low:.4f}"
    reason = f"{name} is {bound} (end of its interval); required: {limit:.4f}"
    return Ruling(name_status(is_enough), reason, question.score, limit, interval)
