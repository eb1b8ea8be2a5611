"""Candidates that were trained with several seeds: all are scored, and the median ships.

Which one ships is decided here, from the answers on validation: train leaves all of them alike.
"""

from collections.abc import Sequence
from typing import Any

from plumbline.contract.records import Candidate, Scores, SeedScores
from plumbline.contract.task import Metric
from plumbline.statistics.seeds import SeedSpread, estimate_spread, find_median_seed


def choose_shipped(seeds: Sequence[SeedScores], metric: Metric) -> SeedScores:
    """Return the training with the median score on validation: never the luckiest."""
    scores = {each.seed: compute_mean_score(each.validation, metric) for each in seeds}
    shipped = find_median_seed(scores, higher_is_better=metric.higher_is_better)
    return next(each for each in seeds if each.seed == shipped)


def compute_validation_score(candidate: Candidate, metric: Metric) -> float:
    """Compute the score that candidates are ranked by: the mean over the seeds of each."""
    if not candidate.seeds:
        return candidate.validation.metrics[metric.name]
    scores = [compute_mean_score(each.validation, metric) for each in candidate.seeds]
    return sum(scores) / len(scores)


def compute_mean_score(scores: Scores, metric: Metric) -> float:
    """Compute the score of one training from those of its rows.

    So it is, to the last bit, what follows from the rows when they are read again: two seeds may
    have equal scores.
    """
    return float(scores.per_example[metric.name].mean())


def measure_spread(candidate: Candidate, metric: Metric) -> SeedSpread | None:
    """Measure how far the trainings of `candidate` are from each other on the test split."""
    if not candidate.seeds:
        return None
    return estimate_spread([compute_mean_score(each.test, metric) for each in candidate.seeds])


def describe_seeds(candidate: Candidate, metric: Metric) -> dict[str, Any]:
    """Describe the trainings of `candidate` as evidence does; nothing where it has one seed.

    Of the test split there is no score of each seed: whoever reads it could take the luckiest.
    predictions.parquet has the answers of them all.
    """
    shipped = candidate.shipped
    if shipped is None:
        return {}
    validation = {
        str(each.seed): compute_mean_score(each.validation, metric) for each in candidate.seeds
    }
    test = [compute_mean_score(each.test, metric) for each in candidate.seeds]
    return {
        "seeds": {
            "shipped": shipped.seed,
            "bundle": shipped.bundle,
            "validation": validation,
            "validation_mean": compute_validation_score(candidate, metric),
            "validation_spread": estimate_spread(list(validation.values())).deviation,
            "test_mean": sum(test) / len(test),
            "test_spread": estimate_spread(test).deviation,
        }
    }
