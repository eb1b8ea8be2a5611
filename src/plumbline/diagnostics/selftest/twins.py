"""How often a model that is no better is taken for a better one: the same recipe against itself, many times."""

import itertools
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Champion
from plumbline.contract.task import Metric
from plumbline.diagnostics.selftest.ground import CANDIDATE, settings
from plumbline.evidence import compare
from plumbline.statistics.intervals import Interval

NUM_TWINS = 24  # 276 pairs
SHARE = 0.8  # of train, drawn anew for each
ALPHA = 0.05
NUM_RESAMPLES = 999


@dataclass(frozen=True)
class Rates:
    """How often a duel at the level ALPHA, two-sided, let the challenger follow."""

    num_rounds: int
    alike: float  # A/A: challenger and champion from one recipe; ALPHA / 2 by right, were they the same
    alike_interval: Interval  # 95 %, resampling the models
    differ: float  # how much of the test split two of them answer differently
    better: float  # the recipe against one that sees an eighth of the rows: the gate can say yes


def measured(folder: Path) -> Rates:
    """Train the recipe again and again in `folder`, with another seed on other rows each time; compare all pairs."""
    ours = np.stack([_scores(folder, seed, SHARE) for seed in range(NUM_TWINS)])
    weak = np.stack([_scores(folder, 1000 + seed, SHARE / 8) for seed in range(2)])
    metric = settings()[1].metric
    won = np.full((NUM_TWINS, NUM_TWINS), np.nan)
    for one, other in itertools.permutations(range(NUM_TWINS), 2):
        won[one, other] = _promoted(ours[one], ours[other], metric)
    pairs = list(itertools.combinations(range(NUM_TWINS), 2))
    differ = float(np.mean([np.mean(ours[one] != ours[other]) for one, other in pairs]))
    better = float(np.mean([_promoted(one, other, metric) for one in ours for other in weak]))
    return Rates(len(pairs), float(np.nanmean(won)), _interval(won), differ, better)


def _promoted(ours: np.ndarray, theirs: np.ndarray, metric: Metric) -> bool:
    """Whether `ours` would be let through, at the first and only use of a test split."""
    return compare.duel(ours, theirs, metric, Champion(policy="better", margin=0.0), ALPHA).won


def _interval(won: np.ndarray) -> Interval:
    """The 95 % percentile interval of the mean of `won` [models, models], models resampled: pairs share models."""
    random, means = np.random.default_rng(0), []
    for _ in range(NUM_RESAMPLES):
        drawn = random.integers(len(won), size=len(won))
        means.append(np.nanmean(won[np.ix_(drawn, drawn)]))  # a model against itself is no pair
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(low), float(high))


def _scores(folder: Path, seed: int, share: float) -> np.ndarray:
    """Train the recipe with `seed` on a random `share` of the rows; its scores for each test example."""
    import pyarrow.parquet as pq

    from plumbline.training import fitting

    params, task = settings()
    examples = folder / "examples"
    examples.mkdir(exist_ok=True)
    for split in ("train", "validation"):
        rows = pq.read_table(layout.EXAMPLES / f"{split}.parquet")
        size = round(share * len(rows)) if split == "train" else len(rows)
        picked = np.random.default_rng(seed).permutation(len(rows))[:size]
        pq.write_table(rows.take(picked), examples / f"{split}.parquet")
    learner = task.learner(params.model_copy(update={"seed": seed}), CANDIDATE, examples)
    fitting.fit(learner, params, CANDIDATE, _Unlogged())
    fitting.clean(CANDIDATE)
    model = folder / "model"
    shutil.rmtree(model, ignore_errors=True)
    model.mkdir()
    learner.save(model)
    bundle.seal(model, task, CANDIDATE)
    return task.score(layout.EXAMPLES, "test", bundle.load(model)).per_example[task.metric.name]


class _Unlogged:
    """A log that nobody reads."""

    def params(self, values: dict[str, object]) -> None: ...

    def metrics(self, values: dict[str, float], step: int) -> None: ...

    def tag(self, key: str, value: str) -> None: ...
