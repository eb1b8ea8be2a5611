"""Gates on the score alone: is it worth anything, is it possible, is it enough, and is it honestly come by?"""

import numpy as np

from plumbline.evidence import compare
from plumbline.evidence.gates.facts import Facts, Finding

CONTROL_SHARE = 0.2  # of the winner's gain over the best trivial predictor
CONTROL_CONFIDENCE = (
    0.999  # a control is asked on every data set anew, and its alarm must mean something
)


def baselines(facts: Facts) -> Finding:
    """Pass if the gain over the best trivial predictor surely reaches the margin, and the simple model is beaten."""
    name, theirs = _best_baseline(facts)
    gain, found = facts.gain(facts.winner, theirs, facts.limits.confidence)
    margin = facts.limits.min_gain_over_baseline
    said = f"{gain:+.4f} over {name} ({theirs.mean():.4f}), at least {found.low:+.4f}; asked for {margin:+.4f}"
    if found.low < margin:
        return Finding("fail", said, gain, margin, found)
    if facts.simple is None:
        return Finding("pass", said, gain, margin, found)
    name = facts.limits.simple_candidate or ""
    gain, found = facts.gain(facts.winner, facts.simple, facts.limits.confidence)
    said += f"; {gain:+.4f} over {name} ({facts.simple.mean():.4f}), at least {found.low:+.4f}"
    if found.low <= 0:
        return Finding(
            "fail", f"{said}: not surely better than {name}, which costs less", gain, 0, found
        )
    return Finding("pass", said, gain, 0, found)


def bounds(facts: Facts) -> Finding:
    """Fail if the score is surely better than the best that is possible: then something leaks."""
    limit = facts.bound.limit
    if limit is None:
        return Finding("not-applicable", facts.bound.reason)
    score, found = facts.score()
    beyond = found.low > limit if facts.metric.higher_is_better else found.high < limit
    said = (
        f"{score:.4f} {'is too good to be true' if beyond else 'is possible'}: {facts.bound.reason}"
    )
    return Finding("fail" if beyond else "pass", said, score, limit, found)


def control(facts: Facts) -> Finding:
    """Fail if a model that was trained on shuffled answers surely has a good part of what the winner gains.

    One shuffle may be lucky by a little, on every test example alike; what leaks is worth more than luck.
    """
    if not facts.controls:
        return Finding("not-applicable", "control.candidates in params.yaml names none")
    name, theirs = _best_baseline(facts)
    gains = {
        key: facts.gain(ours, theirs, CONTROL_CONFIDENCE) for key, ours in facts.controls.items()
    }
    worst = max(gains, key=lambda key: gains[key][1].low)
    gain, found = gains[worst]
    limit = max(0.0, CONTROL_SHARE * facts.gain(facts.winner, theirs, CONTROL_CONFIDENCE)[0])
    told = f"{worst}, trained on shuffled answers, scores {facts.controls[worst].mean():.4f}; {name} {theirs.mean():.4f}"
    if found.low > limit:
        return Finding(
            "fail", f"{told}: it learned from what it should not see", gain, limit, found
        )
    return Finding("pass", told, gain, limit, found)


def floor(facts: Facts) -> Finding:
    """Pass if the worse end of the score's interval still reaches the floor."""
    score, found = facts.score()
    name, limit = facts.metric.name, facts.limits.floor
    if facts.metric.higher_is_better:
        enough, said = (
            found.low >= limit,
            f"{name} is surely at least {found.low:.4f}; asked for {limit:.4f}",
        )
    else:
        enough, said = (
            found.high <= limit,
            f"{name} is surely at most {found.high:.4f}; asked for {limit:.4f}",
        )
    return Finding("pass" if enough else "fail", said, score, limit, found)


def _best_baseline(facts: Facts) -> tuple[str, np.ndarray]:
    if not facts.baselines:
        raise ValueError("the task names no baseline")
    return compare.best(facts.baselines, facts.metric)
