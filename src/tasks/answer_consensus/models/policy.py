"""The config of a policy, as the predictor reads it, and the confidence at which it stops."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from plumbline.statistics import intervals
from tasks.answer_consensus.data.play import play
from tasks.answer_consensus.data.storage import AnswerSetting
from tasks.answer_consensus.data.tables import Answers
from tasks.answer_consensus.models.tallies import Tallies
from tasks.answer_consensus.params import LogitConfig
from tasks.answer_consensus.predictor import Predictor, find_normaliser

Config = dict[str, Any]
# Tried on validation; closer where the answers of a few cheap agents that agree have their place.
STOPS = (0.5, 0.6, 0.65, 0.7, 0.74, 0.78, 0.81, 0.84, 0.86, 0.88, 0.9, 0.92, 0.94, 0.96, 0.98, 0.99)


def build_config(
    setting: AnswerSetting,
    tallies: Tallies,
    scorer: Mapping[str, Any],
    plan: list[int],
    by_value: bool = False,
    stop_at: float | None = None,
) -> Config:
    """Build config.json: who may be asked in which order, how votes count, when to stop."""
    return {
        "agents": setting.agents,
        "costs": setting.costs,
        "max_cost": setting.purse,  # who asks real agents keeps to it too
        "normalise": setting.normalise,
        "rank": tallies.rank,
        "accuracy": tallies.accuracy.tolist(),
        "agreement": tallies.agreement.tolist(),
        "plan": plan,
        "by_value": by_value,
        "stop_at": stop_at,
        "scorer": dict(scorer),
    }


def build_learned_config(
    setting: AnswerSetting,
    tallies: Tallies,
    scorer: Mapping[str, Any],
    policy: LogitConfig,
    validation: Answers,
    confidence: float,
) -> Config:
    """Build the config of a policy that may ask everyone, cheap ones first or by value.

    Where params do not say when it stops, it stops where it is best on validation; its mean cost
    there is below mean_cost at `confidence`. One that is never sure enough to stop in time asks
    only the best agents that mean_cost pays for: it has no more money than what it is compared
    with, and neither has a control.
    """
    cheap_first = [int(place) for place in np.argsort(setting.costs, kind="stable")]
    by_value = policy.order == "value"
    config = build_config(setting, tallies, scorer, cheap_first, by_value, policy.stop_at)
    if policy.stop_at is None:
        config["stop_at"] = choose_stop(setting, validation, Predictor(config), confidence)
        if config["stop_at"] is None:
            config["plan"] = choose_by_accuracy(setting, tallies.accuracy)
    return config


def choose_by_accuracy(setting: AnswerSetting, accuracy: np.ndarray) -> list[int]:
    """Take agents by accuracy [A], as long as mean_cost and max_cost pay for all of them."""
    left = min(setting.mean_cost, setting.purse)
    plan: list[int] = []
    for place in np.argsort(-accuracy, kind="stable"):
        if setting.costs[place] <= left:
            plan.append(int(place))
            left -= setting.costs[place]
    return plan or [int(np.argmin(setting.costs))]


def choose_stop(
    setting: AnswerSetting, validation: Answers, predictor: Predictor, confidence: float
) -> float | None:
    """Return the confidence to stop at: the most accurate on validation that mean_cost pays for.

    The upper end of the mean cost's one-sided interval at `confidence` counts: else one policy in
    two would cost more than mean_cost on other questions. Of equally accurate ones the cheapest;
    None where all cost too much.
    """
    normalise = find_normaliser(setting.normalise)
    costs = setting.compute_costs(validation)
    paid = []
    for stop_at in STOPS:
        course = play(setting, validation, predictor, stop_at=float(stop_at))
        hits = [
            normalise(answer) == normalise(gold)
            for answer, gold in zip(course.answers, validation.golds, strict=True)
        ]
        spent = course.sum_costs(costs)
        if _bound_mean(spent, confidence) <= setting.mean_cost:
            paid.append((float(np.mean(hits)), -float(spent.mean()), float(stop_at)))
    return max(paid)[2] if paid else None


def _bound_mean(values: np.ndarray, confidence: float) -> float:
    """Return what the mean of `values` [rows] is below at `confidence`, one-sided."""
    both_sides = 2 * confidence - 1
    return intervals.compute_mean_interval(values, "continuous", both_sides).high
