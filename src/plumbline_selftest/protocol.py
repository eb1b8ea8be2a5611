"""What `plumbline selftest` asks of a task, for its faults and its drill; both are optional."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from plumbline.contract.params import Params
from plumbline.contract.task import Task

SourceRow = Mapping[str, str]  # one row of a source, by column
# Each command runs when those before it have run without an error. `start` runs nothing: there the
# checkout has params.yaml and no data. `load` is what every server does with a champion's files.
Command = Literal[
    "start", "ingest", "validate", "train", "evaluate", "register", "promote", "rollback", "load"
]


class FaultSite(Protocol):
    """A checkout (the current folder) with a champion and a better candidate, ready for a fault."""

    @property
    def params(self) -> Params:
        """What params.yaml says now."""
        ...

    @property
    def task(self) -> Task[Params]:
        """The task of the checkout."""
        ...

    @property
    def candidate(self) -> str:
        """The name of the candidate."""
        ...

    def wrap_predictor(self, code: Path, config: Mapping[str, Any]) -> None:
        """Make `code` the predictor of the candidate's bundle, and seal it.

        Its `wrap` gets the predictor that was there, and `config`. It becomes the predictor of the
        task, since evaluate refuses any other one.
        """
        ...

    def edit_params(self, old: str, new: str) -> None:
        """Replace text in params.yaml; raises LookupError if it is not there."""
        ...

    def renew_manifest(self) -> None:
        """Derive the manifest from the examples as they are now."""
        ...

    def accept_data(self) -> None:
        """Make validation.json accept the data as they are now."""
        ...

    def retrain(self) -> None:
        """Train the candidate again, on the data as they are now."""
        ...


@dataclass(frozen=True)
class Fault:
    """Something planted, and the expected result: a verdict, and the gate that fails.

    | verdict | expected |
    |---|---|
    | refuse | `evaluate` refuses, the gate `gate` fails, and `register` registers nothing |
    | error | a command ends with an error whose message contains `gate` |
    | promote | a sound model: it is registered as challenger; `gate` is "none" |
    | keep | a sound model that is not better: `gate` is "champion" |
    | pass | sound: no command ends with an error; `gate` is "none" |

    It is planted right before the command `before`; that command runs, and those after it up to
    `until`, until one fails; `promote`, `rollback` and `load` each run alone. Where `promote` runs,
    the sound candidate is registered as version 2; where `rollback` or `load` run, it is champion.
    """

    name: str
    gate: str
    verdict: Literal["promote", "keep", "refuse", "error", "pass"]
    plant: Callable[[FaultSite], None]
    before: Command = "evaluate"
    until: Command = "register"
    needs_control: bool = False  # not planted where the fixture trains no control

    @property
    def is_sound(self) -> bool:
        """Whether a refusal is the mistake; else a promotion is."""
        return self.verdict in ("promote", "keep", "pass")


class FaultsPart(Protocol):
    """`faults` of a task: a small pipeline, and faults that only this task can plant.

    Where it has a function `sample_examples(examples, target, share, seed)`, which writes a random
    share of train and all of validation to the folder `target`, the A/A test is run too.
    """

    PARAMS: Path  # a sound pipeline that trains in seconds, with a control if there can be one
    WEAKER: Mapping[str, str]  # replaced there, for a champion that is significantly worse
    FAULTS: Sequence[Fault]  # of this task alone


class DrillPart(Protocol):
    """`drill` of a task: rows of a source that can change over time, a params.yaml that reads it.

    Every row has a `label`, and a column for each input of the task's signature.
    """

    def read_params(self) -> str:
        """Return the params.yaml of the drill; its model has no champion at first."""
        ...

    def read_poor_params(self) -> str:
        """Return the same for a model that the gate `floor` refuses."""
        ...

    def draw_rows(self, num_rows: int, seed: int, drift: float) -> list[SourceRow]:
        """Draw rows; `drift` is the share of rows that come from a changed world."""
        ...

    def write_source(self, folder: Path, rows: Sequence[SourceRow]) -> None:
        """Make `rows` the source of the checkout in `folder`."""
        ...
