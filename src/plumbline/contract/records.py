"""What the parts of a task return: plain records that stages, gates and reports read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from plumbline.contract.expectations import Expectation

MAX_FAILURES = 5  # of a behavioural test that are named


@dataclass(frozen=True)
class Check:
    """One Great Expectations expectation, what it means to a person, and whether it blocks."""

    name: str
    expectation: "Expectation"
    severity: Literal["blocking", "warning"]
    title: str
    remedy: str
    follows_from: tuple[str, ...] = ()  # checks whose failure explains that this one fails


@dataclass(frozen=True)
class Learner:
    """A candidate ready to train: closed form by `solve`, or gradient on `module` and `data`."""

    save: Callable[[Path], None]  # writes what the predictor needs, with the best weights in place
    solve: Callable[[], None] | None = None
    # A torch module; its batches are mappings of tensors [examples, ...]. `training_step(batch)`
    # returns the mean loss, `validation_step(batch)` sums over the rows of the batch by name:
    # `validation/<name>` is then the mean over all rows. `configure_optimizers()` returns the
    # optimizer and its schedule, which counts steps, or None.
    module: Any = None
    # Has `train_dataloader()` and `val_dataloader()`, whose loaders have a batch_sampler that lists
    # rows of the dataset; a shuffling one depends on (seed, set_epoch(epoch)) alone.
    data: Any = None
    max_epochs: int = 0
    patience: int = 0  # epochs without a better `monitor` before training stops
    min_gain: float = 0.0  # the share by which `monitor` must fall to count as better there
    monitor: str = "validation/loss"
    gradient_clip: float = 1.0


@dataclass(frozen=True)
class Scores:
    """How well one predictor answered one split.

    `per_example` holds the task's metric by its name, in the order of the manifest, as its `id` if
    there is one. Intervals assume independent rows: of two rows that share a recording or a person,
    score only one. More columns are optional. `confidence` is the probability that the predictor
    gave its answer; the calibration gate compares it with `correct`, 0 or 1, and without that
    column with the metric. `predicted` is the answer, where answers are equal or not; the parity
    gate counts the rows on which two forms agree. `epistemic` and `aleatoric`, in nats, are what an
    answer says of its own doubt, and `answered` is 0 where the model leaves a row to a person; the
    gates uncertainty and selective read them. `cost` is what the answer cost in the metric's
    `cost_unit`, and its mean is in `metrics` too.
    """

    per_example: dict[str, "np.ndarray"]
    metrics: dict[str, float]
    tables: dict[str, "pd.DataFrame"] = field(default_factory=dict)  # confusion, reliability ...


@dataclass(frozen=True)
class Bound:
    """The best possible score on a split, and the reason; a limit of None means it is not known.

    An array is one limit for each example, in the order of the manifest.
    """

    limit: "float | np.ndarray | None"
    reason: str
    exact: bool = False  # a theorem: a single example beyond its limit shows a leak


@dataclass(frozen=True)
class Leak:
    """How many examples of a held-out split should not be there, with the first of them.

    An earlier split has them also (`exact`), or a nearly equal one (`near`), or another one of the
    same group (`group`); or they repeat an example of their own split (`copy`).
    """

    kind: Literal["exact", "near", "group", "copy"]
    split: str
    num_leaked: int
    num_rows: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """The result of one behavioural test: how many of its cases passed, with the first failures."""

    name: str
    kind: Literal["invariance", "direction", "minimum"]
    num_passed: int
    num_cases: int
    failures: tuple[str, ...]
    is_sample: bool = False  # drawn from many such cases; else these are all that are asked

    @classmethod
    def build(
        cls,
        name: str,
        kind: Literal["invariance", "direction", "minimum"],
        failures: Sequence[str],
        num_cases: int,
        is_sample: bool = False,
    ) -> "Case":
        """Return the result of `num_cases` cases, of which `failures` did not pass."""
        shown = tuple(failures[:MAX_FAILURES])
        return cls(name, kind, num_cases - len(failures), num_cases, shown, is_sample)


@dataclass(frozen=True)
class ExportDifference:
    """How far a part of a bundle is from what follows from the weights that were trained."""

    form: str  # the form, or what else was compared
    largest: float  # difference of two numbers, in their own unit
    limit: float  # of what rounding explains
    num_rows: int  # whose answers were compared; 0 where the numbers themselves were


@dataclass(frozen=True)
class Figure:
    """A picture for the report, as self-contained SVG."""

    name: str
    title: str
    caption: str
    svg: str


@dataclass(frozen=True)
class SeedScores:
    """One of the trainings of a candidate that differ in the seed alone."""

    seed: int
    bundle: str  # its folder in models/
    validation: Scores
    test: Scores


@dataclass(frozen=True)
class Candidate:
    """All that evaluation knows of one candidate when figures are drawn.

    Where it was trained with several `seeds`, all but these is of the training that ships.
    """

    name: str
    validation: Scores
    test: Scores
    history: "pd.DataFrame | None"  # one row per epoch; None if the candidate has no epochs
    latency_ms: dict[str, float]  # p50 and p95 for one row and for a batch
    num_bytes: int
    control: "Scores | None" = None  # of the same trained on shuffled answers, where there is one
    seeds: tuple[SeedScores, ...] = ()  # empty where it was trained with one
    shipped: SeedScores | None = None  # of `seeds`; None where there are none

    @property
    def bundle(self) -> str:
        """The name of the bundle that ships, a folder in models/."""
        return self.shipped.bundle if self.shipped else self.name
