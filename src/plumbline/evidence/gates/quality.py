"""Gates on the score: is it better than nothing, possible, honest and high enough?"""

import numpy as np

from plumbline.evidence import compare
from plumbline.evidence.gates.findings import DISPROOF_CONFIDENCE, Findings, Ruling, Status
from plumbline.statistics import intervals, power

CONTROL_SHARE = 0.2  # of the winner's gain over the best trivial predictor
ROUNDING = 1e-9  # by which a score may be beyond its row's limit


def check_baselines(findings: Findings) -> Ruling:
    """Pass if the gain over the best baseline is enough, and the simple candidate is no better.

    The simple candidate was beaten on validation, where the winner was chosen. To demand the same
    of the test split again would choose on it.
    """
    confidence = findings.limits.confidence
    name, baseline = findings.best_baseline
    interval = findings.compute_gain_interval(findings.winner, baseline, confidence)
    gain = findings.compute_gain(findings.winner, baseline)
    share = findings.limits.min_gain_over_baseline
    margin = compare.compute_margin(float(baseline.mean()), share, findings.metric)
    reason = (
        f"{gain:+.4f} over {name} ({baseline.mean():.4f}), at least {interval.low:+.4f}; "
        f"required: {margin:+.4f}, {share:.0%} of what {name} leaves to gain"
    )
    if interval.low < margin:
        return Ruling("fail", reason, gain, margin, interval)
    if findings.choice.simple is not None:
        reason += f"; {findings.choice.reason}"
    if findings.simple is None:
        return Ruling("pass", reason, gain, margin, interval)
    name = findings.limits.simple_candidate or ""
    over = findings.compute_gain_interval(findings.winner, findings.simple, DISPROOF_CONFIDENCE)
    reason += (
        f"; on test {findings.compute_gain(findings.winner, findings.simple):+.4f} over {name} "
        f"({findings.simple.mean():.4f}), {over.low:+.4f} to {over.high:+.4f}"
    )
    if over.high < 0:
        reason += f": significantly worse than {name}, so validation and test disagree"
        return Ruling("fail", reason, gain, margin, over)
    return Ruling("pass", reason, gain, margin, interval)


def check_bounds(findings: Findings) -> Ruling:
    """Fail if the score is significantly better than is possible: then something leaks."""
    limit = findings.bound.limit
    if limit is None:
        return Ruling("not-applicable", findings.bound.reason)
    if not isinstance(limit, float | int):
        return _check_bound_of_each_row(findings, limit)
    interval = intervals.compute_mean_interval(
        findings.winner, findings.metric.kind, DISPROOF_CONFIDENCE
    )
    num_rows, right = findings.winner.size, float(findings.winner.sum())
    is_higher = findings.metric.higher_is_better
    if findings.metric.kind == "continuous":
        is_beyond = interval.low > limit if is_higher else interval.high < limit
    elif is_higher:
        is_beyond = right > power.count_explained_rows(num_rows, limit)
    else:
        is_beyond = num_rows - right > power.count_explained_rows(num_rows, 1 - limit)
    status: Status = "fail" if is_beyond else "pass"
    judgement = "is too good to be true" if is_beyond else "is possible"
    reason = f"{findings.score:.4f} {judgement}: {findings.bound.reason}"
    return Ruling(status, reason, findings.score, limit, interval)


def _check_bound_of_each_row(findings: Findings, limits: np.ndarray) -> Ruling:
    """Compare each score with the limit of its row [rows], and both means pair by pair.

    Rows differ far more from each other than a score from its limit, so pairs show a smaller leak.
    """
    gain = findings.compute_gain(findings.winner, limits)
    interval = findings.compute_gain_interval(findings.winner, limits, DISPROOF_CONFIDENCE)
    beyond = findings.metric.sign * (findings.winner - limits)
    num_beyond = int((beyond > ROUNDING).sum())
    mean = float(limits.mean())
    status: Status = "pass"
    judgement = "is possible"
    if findings.bound.exact and num_beyond:
        status = "fail"
        judgement = f"is too good to be true on {num_beyond} of {limits.size} rows"
    elif interval.low > ROUNDING:
        status = "fail"
        judgement = f"is too good to be true, by {gain:.4f}, at least {interval.low:.4f}"
    reason = f"{findings.score:.4f} (at best {mean:.4f}) {judgement}: {findings.bound.reason}"
    return Ruling(status, reason, findings.score, mean, findings.score_interval)


def check_control(findings: Findings) -> Ruling:
    """Fail if a model trained on shuffled answers has a significant part of the winner's gain.

    One shuffle may be lucky by a little, on every test example in the same way; what leaks is worth
    more than luck.
    """
    if not findings.controls:
        return Ruling("not-applicable", "control.candidates in params.yaml names none")
    name, baseline = findings.best_baseline
    gain_intervals = {
        control: findings.compute_gain_interval(scores, baseline, DISPROOF_CONFIDENCE)
        for control, scores in findings.controls.items()
    }
    worst = max(gain_intervals, key=lambda control: gain_intervals[control].low)
    interval = gain_intervals[worst]
    scores = findings.controls[worst]
    gain = findings.compute_gain(scores, baseline)
    limit = max(0.0, CONTROL_SHARE * findings.compute_gain(findings.winner, baseline))
    reason = (
        f"{worst}, trained on shuffled answers, scores {scores.mean():.4f}; "
        f"{name} {baseline.mean():.4f}"
    )
    if interval.low > limit:
        reason += ": it learned from what it should not see"
        return Ruling("fail", reason, gain, limit, interval)
    return Ruling("pass", reason, gain, limit, interval)


def check_floor(findings: Findings) -> Ruling:
    """Pass if the worse end of the score's interval still reaches the floor."""
    name = findings.metric.name
    limit = findings.limits.floor
    interval = findings.score_interval
    is_enough = compare.is_floor_reached(interval, findings.metric, limit)
    bound = f"at most {interval.high:.4f}"
    if findings.metric.higher_is_better:
        bound = f"at least {interval.low:.4f}"
    reason = f"{name} is {bound} (end of its interval); required: {limit:.4f}"
    status: Status = "pass" if is_enough else "fail"
    return Ruling(status, reason, findings.score, limit, interval)
