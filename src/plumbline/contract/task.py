"""All that stages and tasks share: a task is a record of plain functions; one Predictor serves every use."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from plumbline.contract.params import Params

SPLITS = ("train", "validation", "test")
MANIFEST_COLUMNS = (
    "id",
    "split",
    "label",
    "length",
    "digest",
)  # every manifest has these; a task adds its own

Columns = Mapping[str, Sequence[Any]]


class Predictor(Protocol):
    """What a bundle answers with: evaluation, PyFunc, HTTP and batch scoring all call this one method.

    It may have `num_bytes`, the size of what it answers from.
    """

    @property
    def forms(self) -> Sequence[str]:
        """What it can answer with: the form that is served, then others; of several one is `fp32`."""
        ...

    def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
        """Answer every row of `columns` (named as in the task's signature), in order; ValueError names a bad row."""
        ...


@dataclass(frozen=True)
class Field:
    """One column of a signature; `type` is an MLflow type name, or a nested form as MLflow writes it in JSON.

    An input that is not `required` may be left out, or hold None.
    """

    name: str
    type: str | Mapping[str, Any]
    required: bool = True


@dataclass(frozen=True)
class Param:
    """One inference parameter with its default; None stands for 'not set'."""

    name: str
    type: str
    default: Any


@dataclass(frozen=True)
class Signature:
    """What a predictor takes and gives."""

    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    params: tuple[Param, ...] = ()


@dataclass(frozen=True)
class Check:
    """One Great Expectations expectation, with what it means to a person and whether it blocks."""

    name: str
    expectation: Any
    severity: Literal["blocking", "warning"]
    title: str
    remedy: str


@dataclass(frozen=True)
class Learner:
    """A candidate ready to be trained: in closed form by `solve`, or by gradient through `module` and `data`."""

    save: Callable[[Path], None]  # writes what the predictor needs, best weights in place
    solve: Callable[[], None] | None = None
    module: Any = None  # a LightningModule that logs `monitor`; its batches are mappings of tensors [examples, ...]
    data: Any = None  # a LightningDataModule; a batch_sampler that shuffles does so from (seed, set_epoch(epoch)) alone
    max_epochs: int = 0
    patience: int = 0  # epochs without a better `monitor` before training stops
    monitor: str = "validation/loss"
    gradient_clip: float = 1.0


@dataclass(frozen=True)
class Scores:
    """How well one predictor answered one split."""

    # The task's metric by its name; rows as in `id`, else as in the manifest. Intervals take rows to be independent:
    # of two that share a recording or a person, only one is asked. `confidence`: the probability that the predictor
    # gave its answer, where it gives one; the calibration gate holds it against a metric of 0 and 1. `predicted`: the
    # answer, where two are equal or not; the parity gate counts on how many rows two forms agree.
    per_example: dict[str, "np.ndarray"]
    metrics: dict[str, float]
    tables: dict[str, "pd.DataFrame"] = field(default_factory=dict)  # confusion, reliability ...


@dataclass(frozen=True)
class Metric:
    """The score by which candidates are compared, example by example."""

    name: str
    higher_is_better: bool
    kind: Literal["binary", "continuous"]


@dataclass(frozen=True)
class Bound:
    """The best score that is possible on a split, and why; None where nothing is known."""

    limit: float | None
    reason: str


@dataclass(frozen=True)
class Leak:
    """How many examples of a held-out split also stand where a model learned or was chosen, and the first of them."""

    kind: Literal[
        "exact", "near", "group"
    ]  # the same example, nearly the same, or another of the same group
    split: str
    num_leaked: int
    num_rows: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """The outcome of one behavioural test: how many of its cases a predictor got right, with the first failures."""

    name: str
    kind: Literal["invariance", "direction", "minimum"]
    num_passed: int
    num_cases: int
    failures: tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """A picture for the report, as self-contained SVG."""

    name: str
    title: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Candidate:
    """All that evaluation knows of one candidate when figures are drawn."""

    name: str
    validation: Scores
    test: Scores
    history: "pd.DataFrame | None"  # one row an epoch; None where nothing was iterated
    latency_ms: dict[str, float]  # p50 and p95 for one row and for a batch
    num_bytes: int


@dataclass(frozen=True)
class Task:
    """One problem, as plain functions; `examples` is the folder that ingest wrote, `split` one of SPLITS."""

    name: str
    metric: Metric
    signature: Signature
    example: Columns  # a valid input, shown to whoever calls the model
    faulty: Mapping[
        str, Columns
    ]  # inputs of one row that the predictor must refuse, by what is wrong with them
    predictor: (
        Path  # a file with load(folder, form=None) -> Predictor that imports nothing of plumbline
    )
    requirements: tuple[str, ...]  # distributions that predictor imports
    ingest: Callable[
        ["Params", Path, Path], dict[str, Any]
    ]  # (params, examples, manifest) -> facts about the source
    table: Callable[  # (params, examples, manifest, facts that ingest returned) -> what expectations need to see
        ["Params", Path, "pd.DataFrame", Mapping[str, Any]], "pd.DataFrame"
    ]
    expectations: Callable[
        ["Params", "pd.DataFrame"], list[Check]
    ]  # the table says no more than which splits exist
    learner: Callable[["Params", str, Path], Learner]  # (params, candidate, examples)
    permuted: Callable[
        [Path, Path, int, int], None
    ]  # (examples, target, seed, max train rows): answers shuffled
    inputs: Callable[
        [Path, str], dict[str, list[Any]]
    ]  # (examples, split) -> predictor's columns, in order
    score: Callable[[Path, str, Predictor], Scores]
    baselines: Callable[["Params", Path], dict[str, Predictor]]
    bounds: Callable[["Params", Path, str], Bound]
    leaks: Callable[["Params", Path], list[Leak]]
    behaviour: Callable[["Params", Path, Predictor], list[Case]]
    figures: Callable[
        ["Params", list[Candidate]], list[Figure]
    ]  # (params, candidates, the winner first)
