"""The types of params.yaml: values are in YAML, their constraints here.

A task narrows `data`, `validation` and `candidates` of `Params`. What a person has to choose has no
default: it is written in params.yaml, or the file is refused.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from plumbline.contract.errors import ParamsError
from plumbline.contract.suggestion import suggest_nearest
from plumbline.contract.task import SPLITS

MAX_WINDOW_ROWS = 5000  # the newest rows, which one check for drift compares
TRAINED_FORM, INT8 = "fp32", "int8"  # forms; others than that of training are compared with it

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Share = Annotated[float, Field(ge=0, le=1)]


class StrictModel(BaseModel):
    """Frozen, strict and closed: an unknown key is an error, and text is never read as a number."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class SeededConfig(StrictModel):
    """A candidate that may be trained several times, with seeds that follow each other.

    Without `seeds` it is trained once, with the seed of the file, and is written without the key.
    """

    # Candidates are ranked by the mean over their seeds; the median on validation ships.
    seeds: Annotated[
        Annotated[int, Field(ge=3, le=25)] | None, Field(exclude_if=lambda value: value is None)
    ] = None


class Identity(StrictModel):
    """How a run sees that a remote source changed; DVC itself compares files on this machine."""

    # [remote]: each run asks the servers of remote sources. []: no source is remote, or the run
    # goes on with the rows of the last one.
    lookup: Annotated[list[Literal["remote"]], Field(max_length=1)]
    # For SQL sources, a query of one row that changes with the data; null: all rows are read.
    watermark: str | None = None


class Training(StrictModel):
    """How candidates that learn by gradient are trained; other values are with each candidate."""

    device: Literal["auto", "cuda", "mps", "cpu"]
    precision: Literal["auto", "bf16", "fp32"]
    checkpoint_every_steps: Annotated[int, Field(ge=1)] = 50


class Control(StrictModel):
    """Which candidates are also trained on shuffled answers, from which nothing can be learned."""

    candidates: list[Name]
    max_rows: Annotated[int, Field(ge=1)]  # of train


class Champion(StrictModel):
    """What it takes to follow the champion."""

    policy: Literal["better", "not-worse"]
    # better: significantly by more than this; not-worse: significantly by no more than this
    margin: Annotated[float, Field(ge=0)] = 0.0


class Leakage(StrictModel):
    """How much of a held-out split may also be in a split before it."""

    exact: Share
    near: Share
    group: Share


class Behaviour(StrictModel):
    """The share of cases of each kind that the winner must get right."""

    invariance: Share
    direction: Share
    minimum: Share


class Parity(StrictModel):
    """How close another form of the winner must come to TRAINED_FORM, to be served instead."""

    max_loss: Annotated[float, Field(ge=0)]  # it must not lose significantly more
    min_agreement: Share  # of rows with equal answers


class Budget(StrictModel):
    """What the winner may cost to run; null: no limit."""

    one_p95_ms: Annotated[float, Field(gt=0)] | None
    batch_p95_ms: Annotated[float, Field(gt=0)] | None  # of 32 rows
    rss_mb: Annotated[float, Field(gt=0)] | None  # of a process that answers with the package
    bundle_mb: Annotated[float, Field(gt=0)] | None
    cost: Annotated[float, Field(gt=0)] | None = None  # of one answer, in the task's unit


class Selective(StrictModel):
    """A model that answers only where it is sure enough: how often it may be wrong there."""

    risk: Annotated[float, Field(gt=0, lt=1)]  # share of wrong answers among those that it gives
    # Of the test rows it must answer at least this share itself (end of the interval).
    min_coverage: Annotated[float, Field(gt=0, le=1)]


class Groups(StrictModel):
    """How far two groups of test rows may be apart; left out: no two are compared."""

    columns: Annotated[list[str], Field(min_length=1)]  # of the manifest
    # The share of wrong answers, of answers CLASS, or of rows of CLASS that are answered so.
    rate: Annotated[str, Field(pattern=r"^(error|(answer|recall)=.+)$")]
    max_gap: Annotated[float, Field(ge=0, lt=1)]  # no two may be significantly further apart
    min_rows: Annotated[int, Field(ge=2)]  # smaller groups are named, and not judged


class Evaluation(StrictModel):
    """What a winner has to show, in the task's metric, before it may be promoted."""

    confidence: Annotated[float, Field(gt=0.5, le=0.9999)]
    floor: float  # the worse end of the score's interval must reach this
    # The worse end of the gain's interval must reach this share of what is left to gain: of the
    # distance from the baseline's score to a perfect one.
    min_gain_over_baseline: Annotated[float, Field(ge=0, lt=1)]
    simple_candidate: Name | None  # wins, unless another is significantly better on validation
    champion: Champion
    # How often this test split may be used.
    planned_looks: Annotated[int, Field(ge=1, le=1_000_000)]
    final: bool  # in an experiment of DVC: true uses the test split, and registers the winner
    # Of the champion's test rows, no larger share may be gone, relabelled or changed.
    max_test_changes: Share
    # The winner's scores on test and on validation may differ by this, beyond chance.
    max_validation_gap: Annotated[float, Field(ge=0)]
    # A difference of this size must be detectable on the test split.
    max_detectable_difference: Annotated[float, Field(gt=0)]
    slices: list[str]  # columns of the manifest
    min_slice_rows: Annotated[int, Field(ge=2)]
    max_slice_loss: Annotated[float, Field(ge=0)]  # no group may lose significantly more than this
    # Without it no two groups are compared, and the file is written without the key.
    groups: Annotated[Groups | None, Field(exclude_if=lambda value: value is None)] = None
    max_leakage: Leakage
    max_calibration_error: Share | None
    selective: Selective | None  # null: the model answers every row
    min_behaviour: Behaviour
    parity: Parity
    budget: Budget

    def list_columns(self) -> dict[str, list[str]]:
        """Map each key that names columns of the manifest to those."""
        return {
            "evaluation.slices": self.slices,
            "evaluation.groups.columns": self.groups.columns if self.groups else [],
        }

    def describe_metric(self) -> dict[str, Any]:
        """Return `metric`, and what else decides scores, where it is not the task's own; else {}.

        A task that offers several metrics returns what its `scoring.score` reads.
        """
        return {}


class Card(StrictModel):
    """What the model card says and nothing can measure; left out: not stated."""

    owner: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    intended_use: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    data_licence: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class Registry(StrictModel):
    """Where the winner is registered, under which name."""

    model: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,59}$")]
    first_champion: bool
    # Only who won such a trial is promoted: by labels, or by reactions.
    trial: Annotated[
        Literal["paired", "split"] | None, Field(exclude_if=lambda value: value is None)
    ] = None


class Retrain(StrictModel):
    """How often training is requested: at most by drift, at least by the calendar."""

    per_day: Annotated[int, Field(ge=0)]
    # So many days after the last training the next one is due, drift or none. Without it none is,
    # and the file is written without the key.
    every_days: Annotated[
        Annotated[int, Field(ge=1, le=3650)] | None, Field(exclude_if=lambda value: value is None)
    ] = None
    # The same, after so many labels of days that `plumbline outcomes --record` closed.
    every_labels: Annotated[
        Annotated[int, Field(ge=1)] | None, Field(exclude_if=lambda value: value is None)
    ] = None


class Drift(StrictModel):
    """When today's rows count as different from those that the champion was evaluated on."""

    alpha: Annotated[float, Field(gt=0, lt=0.5)]  # share of stable windows that may seem to drift
    min_effect: Annotated[float, Field(ge=0)]  # smaller population stability indexes do not count
    min_rows: Annotated[int, Field(ge=30, le=MAX_WINDOW_ROWS)]
    retrain: Retrain


class Outcomes(StrictModel):
    """Which labels that came back decide on the champion, and when."""

    mature_days: Annotated[int, Field(ge=0, le=365)] = 7
    sample: Annotated[float, Field(gt=0, le=1)] = 0.02  # of rows: the server draws them for labels
    min_coverage: Annotated[float, Field(ge=0.5, le=1)] = 0.9
    margin: Annotated[float, Field(ge=0, lt=1)] = 0.0
    planned_trials: Annotated[int, Field(ge=1, le=1000)] = 10  # against one champion


class Validation(StrictModel):
    """How many rows there must be; a task adds limits of its own."""

    min_rows: Annotated[int, Field(ge=1)]  # of each split

    def list_min_rows(self) -> Mapping[str, int]:
        """Map each split to the rows that it needs."""
        return dict.fromkeys(SPLITS, self.min_rows)


class Params(StrictModel):
    """What every params.yaml has; a task narrows `data`, `validation` and `candidates`."""

    version: Literal[1]
    task: str
    seed: Annotated[int, Field(ge=0, lt=2**31)]
    data: StrictModel
    identity: Identity
    validation: Validation
    candidates: Mapping[Name, StrictModel]
    training: Training
    control: Control
    evaluation: Evaluation
    drift: Drift
    outcomes: Outcomes = Outcomes()
    card: Card
    registry: Registry

    def require_candidate(self, name: str) -> None:
        """Raise ParamsError where no candidate has this name; it says which one may be meant."""
        if name not in self.candidates:
            known = sorted(self.candidates)
            hint = suggest_nearest(name, known) or f"; known: {', '.join(known)}"
            raise ParamsError(f"candidates.{name}: not in params.yaml{hint}")

    def list_sources(self) -> dict[str, str | None]:
        """Map the address of each source that ingest reads to its pinned SHA-256, if it has one."""
        return {}

    def describe_source(self) -> dict[str, Any]:
        """Say how files are read, for who reads such a file later (`bundle.read_source`).

        What is as usual is left out: names of columns that are those of the signature.
        """
        return {}

    @model_validator(mode="after")
    def _check_candidate_names(self) -> "Params":
        named = [("control.candidates", name) for name in self.control.candidates]
        if self.evaluation.simple_candidate is not None:
            named.append(("evaluation.simple_candidate", self.evaluation.simple_candidate))
        for key, name in named:
            if name not in self.candidates:
                known = list(self.candidates)
                hint = suggest_nearest(name, known) or f"; candidates are {', '.join(known)}"
                raise ValueError(f"{key} names {name!r}, which is not a candidate{hint}")
        return self
