"""What `plumbline selftest` and `plumbline drill` ask of a task; a task need not offer either."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from plumbline.contract.params import Params
from plumbline.contract.task import Task

SourceRow = Mapping[str, str]  # one row of a source, by column


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

    def wrap_predictor(
        self, code: Path, config: Mapping[str, Any], candidate: str | None = None
    ) -> None:
        """Make `code` the predictor of a sealed bundle, by default that of the candidate.

        Its `load` finds the predictor that was there as sound.py, and `config` as faulty.json.
        """
        ...

    def edit_params(self, old: str, new: str) -> None:
        """Replace text in params.yaml; raises LookupError if it is not there."""
        ...

    def accept_data(self) -> None:
        """Make validation.json accept the data as they are now."""
        ...

    def retrain(self) -> None:
        """Train the candidate again, on the data as they are now."""
        ...


@dataclass(frozen=True)
class Fault:
    """A fault and the expected result: the verdict, and the gate that fails.

    If the verdict is "error", `gate` is a word of the error's message.
    """

    name: str
    gate: str
    verdict: Literal["promote", "keep", "refuse", "error"]
    plant: Callable[[FaultSite], None]


class FaultsPart(Protocol):
    """`task.faults`: a small pipeline, and faults that only this task can plant."""

    def read_fixture(self) -> str:
        """Return the params.yaml of a sound pipeline; it trains in seconds, and has a control."""
        ...

    def read_weak_fixture(self) -> str:
        """Return the same for a worse model, which the other one must significantly beat."""
        ...

    def list_faults(self) -> Sequence[Fault]:
        """Return the task's own faults; faults that need no knowledge of a task are not here."""
        ...

    def sample_examples(self, examples: Path, target: Path, share: float, seed: int) -> None:
        """Write a random `share` of train, and all of validation, to `target`."""
        ...


class DrillPart(Protocol):
    """`task.drill`: a source of rows that can change over time, and a params.yaml that reads it.

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
