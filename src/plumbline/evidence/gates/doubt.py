"""Gates on what a model says of its own doubt: does it mean anything, and is its promise kept?"""

from dataclasses import asdict
from typing import Any

from plumbline.contract.params import Selective
from plumbline.evidence.gates.question import GateQuestion, Ruling
from plumbline.evidence.uncertainty import SelectiveAnswers
from plumbline.statistics import power
from plumbline.statistics.error_ordering import ErrorOrdering
from plumbline.statistics.intervals import compute_proportion_interval

MIN_ERRORS = 10  # and as many right answers; of fewer the interval is wrong
CHANCE = 0.5  # AUROC of an uncertainty that knows nothing
USEFUL = 0.65  # AUROC of one that is worth showing


def check_uncertainty(question: GateQuestion) -> Ruling:
    """Fail if an uncertainty that the answers carry orders errors as chance does.

    That is where it is not significantly better than chance, and significantly worse than USEFUL.
    A confidence alone is no such claim; its order is measured and reported.
    """
    orderings = dict(question.orderings[question.best.name])
    orderings.pop("confidence", None)
    if not orderings:
        return Ruling("not-applicable", "the answers carry no uncertainty besides a confidence")
    constant = [name for name, ordering in orderings.items() if ordering.num_values == 1]
    if constant and question.winner.size > 1:
        reason = f"{constant[0]} is the same number on every test row: it says nothing"
        return Ruling("fail", reason, CHANCE, CHANCE)
    ordering = orderings["epistemic"]
    if min(ordering.num_errors, ordering.num_rows - ordering.num_errors) < MIN_ERRORS:
        reason = (
            f"{ordering.num_errors} of {ordering.num_rows:,} test answers are wrong; an order can "
            f"be judged from {MIN_ERRORS} wrong and {MIN_ERRORS} right ones on"
        )
        return Ruling("not-applicable", reason)
    shown = [_compare_with_chance(name, ordering) for name, ordering in orderings.items()]
    return min(shown, key=lambda ruling: (ruling.status == "pass", ruling.measured))


def describe_uncertainty(question: GateQuestion) -> dict[str, Any]:
    """Describe how the uncertainty of each candidate that has one orders its errors."""
    described = {}
    for name, orderings in question.orderings.items():
        if orderings:
            described[name] = {kind: asdict(ordering) for kind, ordering in orderings.items()}
    return {"uncertainty": described}


def _compare_with_chance(name: str, ordering: ErrorOrdering) -> Ruling:
    area, interval, highest = ordering.auroc, ordering.auroc_interval, ordering.auroc_highest
    if area is None or interval is None or highest is None:
        raise ValueError(f"{name} has no AUROC")
    reason = (
        f"{name} is greater for an error than for a right answer with probability {area:.4f}, "
        f"{interval.low:.4f} to {interval.high:.4f}"
    )
    if interval.low > CHANCE:
        return Ruling("pass", reason, area, CHANCE, interval)
    if highest >= USEFUL:
        reason += f": {ordering.num_errors} errors are too few to tell that from chance"
        return Ruling("pass", reason, area, CHANCE, interval)
    reason += f": not significantly better than chance, and significantly less than {USEFUL}"
    return Ruling("fail", reason, area, CHANCE, interval)


def check_selective(question: GateQuestion) -> Ruling:
    """Pass if the risk is shown on validation, is not disproved on test, and coverage is shown.

    To demand the bound of the risk again of other rows would refuse half of the models that keep
    it. On test the lower end of the coverage's interval has to pass.
    """
    limits = question.limits.selective
    answers = question.selective
    if limits is None:
        if answers and answers.num_answered < answers.num_rows:
            num_left = answers.num_rows - answers.num_answered
            reason = f"it leaves {num_left:,} test rows, and evaluation.selective is null"
            return Ruling("fail", f"{reason}: run `dvc repro train`", num_left, 0)
        return Ruling("not-applicable", "evaluation.selective in params.yaml is null")
    if answers is None:
        raise ValueError("no answer says whether it abstains; set evaluation.selective to null")
    if answers.selection is None:
        reason = (
            f"no score is known to keep a risk of {limits.risk:g} on the validation rows: ask for "
            "more risk in evaluation.selective, or collect more validation rows"
        )
        return Ruling("fail", reason)
    if answers.num_unexpected:
        reason = (
            f"on {answers.num_unexpected:,} rows it answers, or abstains, against the threshold "
            f"{answers.selection.threshold:g} that its validation rows give: run `dvc repro train`"
        )
        return Ruling("fail", reason, answers.num_unexpected, 0)
    return _compare_with_promise(answers, limits, question.limits.confidence)


def describe_selective(question: GateQuestion) -> dict[str, Any]:
    """Describe which rows the winner answers itself."""
    return {"selective": question.selective and asdict(question.selective)}


def _compare_with_promise(
    answers: SelectiveAnswers, limits: Selective, confidence: float
) -> Ruling:
    if not answers.num_answered or answers.selection is None:
        return Ruling("fail", "it answers no test row", 0.0, limits.min_coverage)
    num_wrong, num_answered = answers.num_wrong, answers.num_answered
    risk, coverage = num_wrong / num_answered, num_answered / answers.num_rows
    risks = compute_proportion_interval(num_wrong, num_answered, confidence)
    covered = compute_proportion_interval(num_answered, answers.num_rows, confidence)
    reason = (
        f"with scores from {answers.selection.threshold:g} on it answers {coverage:.1%} of the "
        f"test rows, at least {covered.low:.1%} (required: {limits.min_coverage:.0%}), "
        f"{num_wrong} of them wrongly: {risk:.4f}, {risks.low:.4f} to {risks.high:.4f}; on "
        f"validation at most {answers.selection.risk_bound:.4f}, stated {limits.risk:g}"
    )
    if num_wrong > power.count_explained_rows(num_answered, limits.risk):
        reason += ": significantly more than stated"
        return Ruling("fail", reason, risk, limits.risk, risks)
    if covered.low < limits.min_coverage:
        reason += ": too few rows are answered"
        return Ruling("fail", reason, coverage, limits.min_coverage, covered)
    return Ruling("pass", reason, risk, limits.risk, risks)
