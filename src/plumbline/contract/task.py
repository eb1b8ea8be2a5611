"""What a task is: its name, signature and metric, and the parts that stages call.

A part is a sub-package of the task (`tasks/<name>/data` and so on). It is imported when it is first
asked for, so that a stage pays only for the parts that it calls. What it must have is in
contract/parts.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from plumbline.contract.errors import ParamsError

if TYPE_CHECKING:
    from plumbline.contract.params import Params
    from plumbline.contract.parts import DataPart, ExpectationsPart, ModelsPart, ScoringPart
    from plumbline.contract.records import Scores

SPLITS = ("train", "validation", "test")
# Every manifest has these; a task adds its own.
MANIFEST_COLUMNS = ("id", "split", "label", "length", "digest")
# A task whose labels are strata, not classes, also has this one: the answer, or its digest.
RIGHT_ANSWER = "right_answer"
# A task whose rows may have several labels has this one: all of a row, as a JSON list.
LABEL_SET = "label_set"
# A task whose `digest` is of a form to compare also has this one, of all that the model reads.
CONTENT_DIGEST = "content_digest"

Columns = Mapping[str, Sequence[Any]]
# The task's own Params. A part reads params and returns none: hence contravariant.
P = TypeVar("P", bound="Params", contravariant=True)


class Predictor(Protocol):
    """What a bundle answers with; evaluation, PyFunc, HTTP and batch scoring call this one method.

    It may have `num_bytes`, the size of what it answers from.
    """

    @property
    def forms(self) -> Sequence[str]:
        """Its forms: the served one first, then others; with several, one of them is `fp32`."""
        ...

    def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
        """Answer every row of `columns` (named as in the signature), in order.

        Raises ValueError that names a bad row.
        """
        ...


def count_rows(columns: Columns) -> int:
    """Return the number of rows of `columns`, which all have as many."""
    return len(next(iter(columns.values())))


def take_rows(columns: Columns, rows: Sequence[int]) -> dict[str, list[Any]]:
    """Return the rows with these numbers, in their order."""
    return {name: [values[row] for row in rows] for name, values in columns.items()}


@dataclass(frozen=True)
class Field:
    """One column of a signature; an input that is not `required` may be left out, or hold None.

    An output that is not `required` is there only in models that name it: `bundle.seal`.
    """

    name: str
    type: str | Mapping[str, Any]  # an MLflow type name, or a nested type as in MLflow's JSON
    required: bool = True


@dataclass(frozen=True)
class Param:
    """One inference parameter with its default; None means 'not set'."""

    name: str
    type: str
    default: Any


@dataclass(frozen=True)
class Signature:
    """What a predictor takes and returns."""

    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    params: tuple[Param, ...] = ()


@dataclass(frozen=True)
class Metric:
    """The score by which candidates are compared, example by example.

    A binary one says of each row whether its answer is right: 1, else 0. ValueError for one of
    which less is better, since calibration and doubt are held against right answers.
    """

    name: str
    higher_is_better: bool
    kind: Literal["binary", "continuous"]
    # Of the column `cost` in Scores, such as $; empty where an answer costs nothing to speak of.
    cost_unit: str = ""
    # The score of a perfect model, if it does not follow from kind and direction.
    perfect: float | None = None
    # It is not a mean over rows: the scores of rows have it as their mean, and their spread is its
    # spread, but those of two models compare neither single rows nor groups of them.
    of_whole_split: bool = False

    def __post_init__(self) -> None:
        if self.kind == "binary" and not self.higher_is_better:
            raise ValueError(
                f"the metric {self.name}: a binary metric is 1 where the answer is right, so "
                "higher_is_better has to be true; count right answers in place of errors"
            )

    @property
    def sign(self) -> int:
        """1 where more is better, else -1: times a difference of scores, a gain is positive."""
        return 1 if self.higher_is_better else -1

    @property
    def row_metric(self) -> "Metric":
        """The metric that compares single rows and groups: this one, or whether answers are right.

        The column `correct` of Scores says that.
        """
        if not self.of_whole_split:
            return self
        return Metric("correct", higher_is_better=True, kind="binary")

    @property
    def best(self) -> float | None:
        """The score of a perfect model; None where more is better without an end."""
        if self.perfect is not None:
            return self.perfect
        if not self.higher_is_better:
            return 0.0
        return 1.0 if self.kind == "binary" else None


@dataclass(frozen=True)
class Task(Generic[P]):
    """One problem; for its parts, `examples` is the folder that ingest wrote, `split` of SPLITS."""

    name: str
    package: str  # in which its parts are, such as tasks.<name>
    metric: Metric
    signature: Signature
    example: Columns  # a valid input, shown to users of the model
    faulty: Mapping[str, Columns]  # one row each, by its fault: the predictor must refuse it
    # A file, or a package without folders, with load(folder, form=None) -> Predictor. It imports
    # nothing of plumbline, and its own modules by relative imports alone.
    predictor: Path
    requirements: tuple[str, ...]  # distributions that `predictor` imports
    # Those that params may choose instead of `metric`; `scoring.score` computes them.
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    # What params say of the metric, where it is not the task's own.
    chosen: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in self.predictor.glob("[!._]*/*.py"):
            raise ParamsError(f"{path}: a bundle takes no folder below predictor/; move it up")

    def configure(self, params: P) -> "Task[P]":
        """Return the task with the metric that `params` choose; itself where they choose none."""
        chosen = params.evaluation.describe_metric()
        if not chosen:
            return self
        return replace(self, metric=self.metrics[chosen["metric"]], chosen=chosen)

    def score(self, examples: Path, split: str, predictor: Predictor) -> "Scores":
        """Score every example of `split`, in the chosen metric too.

        ValueError for an invalid answer.
        """
        if not self.chosen:
            return self.scoring.score(examples, split, predictor)
        scoring: Any = self.scoring  # of a task with several metrics, `score` takes the chosen one
        scores: Scores = scoring.score(examples, split, predictor, self.chosen)
        return scores

    @property
    def data(self) -> "DataPart[P]":
        """Ingest, shuffled answers, the predictor's inputs."""
        part: DataPart[P] = self._import_part("data")
        return part

    @property
    def expectations(self) -> "ExpectationsPart[P]":
        """The suite for Great Expectations, and leaks."""
        part: ExpectationsPart[P] = self._import_part("expectations")
        return part

    @property
    def models(self) -> "ModelsPart[P]":
        """The candidates."""
        part: ModelsPart[P] = self._import_part("models")
        return part

    @property
    def scoring(self) -> "ScoringPart[P]":
        """Scores, baselines, the bound, behaviour and figures."""
        part: ScoringPart[P] = self._import_part("scoring")
        return part

    def _import_part(self, name: str) -> Any:
        return import_module(f"{self.package}.{name}")
