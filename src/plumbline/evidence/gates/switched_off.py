"""Which gates params have switched off, or have given a limit that nothing can fail.

Such a gate passes or does not apply, and says nothing of it: whoever reads the verdict has to know.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from plumbline.contract.params import TRAINED_FORM, Evaluation, Params
from plumbline.contract.task import Metric
from plumbline.evidence.compare import Slice

HALF = 0.5  # a margin of half of what is left to gain, or a share of half of the rows
MANY_TIMES = 100  # what an answer of the winner costs


def find_switched_off(
    params: Params,
    metric: Metric,
    baselines: Mapping[str, float],
    weak: Collection[str],
    checks: Mapping[str, str],
    slices: Sequence[Slice],
    cost: Mapping[str, float],
) -> dict[str, str]:
    """Return each gate that cannot fail with the reason.

    `baselines` are mean test scores, `weak` the candidates that the gates control or baselines use
    and that are not significantly better on test than the best of these, `checks` the severities of
    the checks of the data by name, `slices` the groups that were judged, and `cost` what the winner
    costs, as the gates read them.
    """
    reasons: dict[str, list[str]] = {}
    found = chain(
        _list_from_params(params, baselines, metric),
        _list_untrained(params, weak),
        _list_toothless_checks(checks),
        _list_blind_slices(slices, metric),
        _list_open_cost(params.evaluation, cost, metric),
    )
    for gate, reason in found:
        reasons.setdefault(gate, []).append(reason)
    return {gate: "; ".join(several) for gate, several in reasons.items()}


def describe_switched_off(gates: Mapping[str, str]) -> str:
    """Say in one sentence which gates are switched off; empty where none is."""
    if not gates:
        return ""
    verb = "gate is" if len(gates) == 1 else "gates are"
    return f"{len(gates)} {verb} switched off: {', '.join(gates)}."


def _list_from_params(
    params: Params, baselines: Mapping[str, float], metric: Metric
) -> Iterator[tuple[str, str]]:
    limits = params.evaluation
    if not params.control.candidates:
        yield "control", "control.candidates names none"
    if limits.simple_candidate is None and len(params.candidates) > 1:
        yield "baselines", "evaluation.simple_candidate is null"
    yield from _list_open_shares(limits)
    yield from _list_missing_limits(limits, metric)
    if baselines:
        yield from _list_open_margins(params, baselines, metric)


def _list_untrained(params: Params, weak: Collection[str]) -> Iterator[tuple[str, str]]:
    """Say where a gate compares with a candidate that learns nothing from true answers either.

    A simple candidate without a learning rate may be one of the baselines itself, and is fair.
    """
    no_better = "not significantly better than the best baseline"
    controls = params.control.candidates
    if controls and all(name in weak for name in controls):
        yield "control", f"control.candidates names {', '.join(controls)}, {no_better}"
    simple = params.evaluation.simple_candidate
    if simple is None or simple not in weak:
        return
    if hasattr(params.candidates[simple], "learning_rate"):
        yield "baselines", f"evaluation.simple_candidate is {simple}, {no_better}"


def _list_toothless_checks(checks: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if checks and "blocking" not in checks.values():
        yield "accepted", f"each of {len(checks)} checks of the data only warns"


def _list_blind_slices(slices: Sequence[Slice], metric: Metric) -> Iterator[tuple[str, str]]:
    """Say where no group would show a loss: for 0/1 scores, one of less than half of its rows."""
    is_binary = metric.row_metric.kind == "binary"
    for group in slices:
        loss = group.detectable_loss
        if loss is not None and (loss < HALF or not is_binary):
            return
    if slices:
        most = max(group.num_rows for group in slices)
        yield "slices", f"none of {len(slices)} groups, of {most} rows at most, would show a loss"


def _list_open_cost(
    limits: Evaluation, cost: Mapping[str, float], metric: Metric
) -> Iterator[tuple[str, str]]:
    """Compare the limit of an answer's cost, in the task's unit, with what the winner costs."""
    limit, measured = limits.budget.cost, cost.get("answer")
    if limit is None or not measured:
        return
    if limit >= MANY_TIMES * measured:
        yield (
            "budget",
            f"evaluation.budget.cost is {limit:g} {metric.cost_unit}, {MANY_TIMES} times what an "
            f"answer of the winner costs ({measured:g}) or more",
        )


def _list_open_shares(limits: Evaluation) -> Iterator[tuple[str, str]]:
    for kind, share in limits.max_leakage.model_dump().items():
        if share >= HALF:
            yield "leakage", f"evaluation.max_leakage.{kind} is {share:g}"
    for kind, share in limits.min_behaviour.model_dump().items():
        if share == 0:
            yield "behaviour", f"evaluation.min_behaviour.{kind} is 0"
    if limits.max_test_changes >= HALF:
        yield "test_split", f"evaluation.max_test_changes is {limits.max_test_changes:g}"


def _list_missing_limits(limits: Evaluation, metric: Metric) -> Iterator[tuple[str, str]]:
    if not limits.slices:
        yield "slices", "evaluation.slices names no column"
    error = limits.max_calibration_error
    if error is None or error >= HALF:
        value = "null" if error is None else f"{error:g}"
        yield "calibration", f"evaluation.max_calibration_error is {value}"
    for key, limit in limits.budget.model_dump().items():
        if limit is None and (key != "cost" or metric.cost_unit):
            yield "budget", f"evaluation.budget.{key} is null"


def _list_open_margins(
    params: Params, baselines: Mapping[str, float], metric: Metric
) -> Iterator[tuple[str, str]]:
    """Compare margins, which are in the metric's units, with what the best baseline leaves."""
    limits = params.evaluation
    best = max(baselines.values()) if metric.higher_is_better else min(baselines.values())
    asked = best
    if metric.best is not None:
        asked += limits.min_gain_over_baseline * (metric.best - best)
    is_open = limits.floor <= asked if metric.higher_is_better else limits.floor >= asked
    if is_open:
        reason = f"evaluation.floor is {limits.floor:g}, and the gate baselines asks for"
        yield "floor", f"{reason} {asked:.4f}"
    if metric.best is None:
        return
    half = HALF * abs(metric.best - best)
    margins = {
        "consistency": ("max_validation_gap", limits.max_validation_gap),
        "slices": ("max_slice_loss", limits.max_slice_loss),
        "power": ("max_detectable_difference", limits.max_detectable_difference),
    }
    if limits.champion.policy == "not-worse":
        margins["champion"] = ("champion.margin", limits.champion.margin)
    if any(_list_forms(params)):
        margins["parity"] = ("parity.max_loss", limits.parity.max_loss)
    for gate, (key, margin) in margins.items():
        if margin >= half:
            yield gate, f"evaluation.{key} is {margin:g}, half of what a baseline leaves or more"


def _list_forms(params: Params) -> Iterator[str]:
    """Yield the forms besides the one that was trained, of all candidates that have forms."""
    for candidate in params.candidates.values():
        for form in getattr(candidate, "forms", ()):
            if form != TRAINED_FORM:
                yield form
