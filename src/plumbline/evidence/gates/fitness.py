"""Gates on the model as it will run: calibrated, sensible, affordable, the same once quantised and once packaged."""

import math

from plumbline.contract.params import REFERENCE
from plumbline.evidence.gates.facts import Facts, Finding
from plumbline.statistics.parity import close


def calibration(facts: Facts) -> Finding:
    """Pass if confidence and accuracy agree on held-out examples (expected calibration error)."""
    limit = facts.limits.max_calibration_error
    if limit is None:
        return Finding("not-applicable", "evaluation.max_calibration_error in params.yaml is null")
    if facts.calibration is None:
        raise ValueError(
            "the predictor gives no confidence; set evaluation.max_calibration_error to null"
        )
    error, interval = facts.calibration
    said = f"confidence and accuracy are {error:.4f} apart; at most {limit} is allowed"
    return Finding("pass" if error <= limit else "fail", said, error, limit, interval)


def behaviour(facts: Facts) -> Finding:
    """Pass if enough cases of every behavioural test come out right."""
    asked = [case for case in facts.behaviour if case.num_cases]
    if not asked:
        raise ValueError("the task has no behavioural case")
    limits = facts.limits.min_behaviour.model_dump()
    worst = min(asked, key=lambda case: case.num_passed / case.num_cases - limits[case.kind])
    share, limit = worst.num_passed / worst.num_cases, limits[worst.kind]
    said = f"{worst.name}: {worst.num_passed} of {worst.num_cases}; asked for {limit:.0%} ({worst.kind})"
    return Finding("pass" if share >= limit else "fail", said, share, limit)


def budget(facts: Facts) -> Finding:
    """Pass if time, memory and size stay within their limits; measured is the largest share of a limit."""
    limits, cost = facts.limits.budget, facts.cost
    found = {
        "p95 of one row": (cost["one_p95"], limits.one_p95_ms, "ms"),
        "p95 of 32 rows": (cost["batch_p95"], limits.batch_p95_ms, "ms"),
        "memory": (cost["rss_mb"], limits.rss_mb, "MB"),
        "bundle": (cost["num_bytes"] / 1e6, limits.bundle_mb, "MB"),
    }
    shares = {
        name: (value / limit, value, limit, unit)
        for name, (value, limit, unit) in found.items()
        if limit
    }
    if not all(math.isfinite(value) for value, _, _ in found.values()):
        raise ValueError(f"not all costs were measured: {dict(cost)}")
    if not shares:
        return Finding("not-applicable", "evaluation.budget in params.yaml sets no limit")
    name, (share, value, limit, unit) = max(shares.items(), key=lambda item: item[1][0])
    said = f"closest to its limit: {name}, {value:.4g} of {limit:g} {unit}"
    return Finding("pass" if share <= 1 else "fail", said, share, 1)


def parity(facts: Facts) -> Finding:
    """Pass if the served form surely loses no more than allowed against the reference, and agrees on enough rows."""
    limits, found = facts.limits.parity, facts.parity
    if found is None:
        return Finding("not-applicable", f"{facts.form} is served, the form that was trained")
    alike = (
        "" if found.agreement is None else f"; both answer {found.agreement:.2%} of the rows alike"
    )
    said = f"{facts.form}: {found.gain:+.4f} against {REFERENCE}, surely no less than {found.interval.low:+.4f}{alike}"
    asked = f"asked for {-limits.max_loss:+g} and {limits.min_agreement:.0%}"
    if close(found, limits):
        return Finding("pass", f"{said}; {asked}", found.gain, -limits.max_loss, found.interval)
    remedy = (
        f"put {REFERENCE} first in candidates.{facts.candidate}.forms, or collect more test rows"
    )
    if found.interval.low < -limits.max_loss:
        return Finding(
            "fail", f"{said}; {asked}: {remedy}", found.gain, -limits.max_loss, found.interval
        )
    return Finding("fail", f"{said}; {asked}: {remedy}", found.agreement, limits.min_agreement)


def replay(facts: Facts) -> Finding:
    """Pass if the package, in a clean process, answers as measured and refuses faulty input with a clear error."""
    if facts.replay:
        return Finding("fail", "; ".join(facts.replay), len(facts.replay), 0)
    return Finding(
        "pass", "the package answers in a clean process as measured, and refuses faulty input", 0, 0
    )
