"""How often a model that is not better is promoted: one recipe against itself, many times."""

import itertools
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Champion
from plumbline.evidence import compare
from plumbline.statistics.intervals import Interval
from plumbline.training.checkpoint_folders import remove_checkpoints
from plumbline_selftest.fixture import get_candidate, read_settings

NUM_MODELS = 24  # 276 pairs
SHARE = 0.8  # of train, drawn again for each model
ALPHA = 0.05
NUM_RESAMPLES = 999
BETTER = Champion(policy="better", margin=0.0)

# Writes a random share of the examples in one folder to another, by a seed.
SampleExamples = Callable[[Path, Path, float, int], None]


@dataclass(frozen=True)
class Rates:
    """How often the champion gate, at the two-sided level ALPHA, promotes the challenger."""

    num_pairs: int
    promoted: float  # were both models equal, ALPHA / 2 is allowed
    interval: Interval  # 95 %, models resampled
    share_different: float  # of test rows on which the scores of a pair differ


def compute_rates(folder: Path, sample_examples: SampleExamples) -> Rates:
    """Train the recipe many times in `folder`, with other seeds and rows; compare all pairs."""
    scores = [_score_model(folder, sample_examples, seed) for seed in range(NUM_MODELS)]
    metric = read_settings()[1].metric
    won = np.full((NUM_MODELS, NUM_MODELS), np.nan)
    for one, other in itertools.permutations(range(NUM_MODELS), 2):
        compared = compare.compare_with_champion(scores[one], scores[other], metric, BETTER, ALPHA)
        won[one, other] = compared.won
    pairs = list(itertools.combinations(scores, 2))
    return Rates(
        num_pairs=len(pairs),
        promoted=float(np.nanmean(won)),
        interval=_estimate_interval(won),
        share_different=float(np.mean([np.mean(one != other) for one, other in pairs])),
    )


def _estimate_interval(won: np.ndarray) -> Interval:
    """95 % percentile interval of the mean of `won` [models, models], NaN on its diagonal.

    Models are resampled, not pairs: pairs share models.
    """
    rng = np.random.default_rng(0)
    means = []
    for _ in range(NUM_RESAMPLES):
        drawn = rng.integers(len(won), size=len(won))
        means.append(np.nanmean(won[np.ix_(drawn, drawn)]))
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(low), float(high))


def _score_model(folder: Path, sample_examples: SampleExamples, seed: int) -> np.ndarray:
    """Train with `seed` on a random share of the rows; return the score of each test example."""
    from plumbline.training import fitting

    params, task = read_settings()
    candidate = get_candidate(params)
    examples, model = folder / "examples", folder / "model"
    examples.mkdir(exist_ok=True)
    sample_examples(layout.EXAMPLES, examples, SHARE, seed)
    seeded = params.model_copy(update={"seed": seed})
    learner = task.models.build_learner(seeded, candidate, examples)
    if learner.solve:
        learner.solve()
    else:
        fitting.fit(learner, params, candidate)
        remove_checkpoints(candidate)
    shutil.rmtree(model, ignore_errors=True)
    model.mkdir()
    learner.save(model)
    bundle.seal(model, task, candidate)
    scores = task.score(layout.EXAMPLES, "test", bundle.load(model))
    return scores.per_example[task.metric.name]
