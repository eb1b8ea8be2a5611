"""Third step of an evaluation: write down what was measured, as four records for `judge`.

Facts are plain values in evidence.json, scores are rows of predictions.parquet. `judge` is given
what was read from there, by evaluate as by who verifies evidence.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from plumbline.contract import layout
from plumbline.contract.records import Case, ExportDifference, Leak
from plumbline.contract.task import Metric
from plumbline.evidence.scores import ScoreTable, read_scores
from plumbline.process.files import format_json
from plumbline.registry.ledger import Look

T = TypeVar("T")


@dataclass(frozen=True)
class DataFacts:
    """What is known of the data besides the manifest."""

    digests: Mapping[str, str]  # of manifest, examples, validation and params, as evaluate read it
    validation: Mapping[str, Any]  # of reports/validation.json what the gate accepted reads
    suite: str  # digest of the expectations that params ask for
    leaks: tuple[Leak, ...]
    look: Look


@dataclass(frozen=True)
class ChampionFacts:
    """The champion, and what is different since it was made."""

    model: str
    version: str
    bundle: str  # digest
    metrics: Mapping[str, float]  # on test
    # By which it is worse than the best champion so far; None where that is not known.
    lag: float | None
    changes: Mapping[str, Any] | None  # None without a record of its making
    is_winner: bool = False  # whether the winner is this bundle again


@dataclass(frozen=True)
class RuntimeFacts:
    """What only a model, a clock or another library can tell."""

    cost: Mapping[str, Mapping[str, float]]  # of each candidate: times in ms, num_bytes
    forms: tuple[Mapping[str, Any], ...]  # of the winner, the served one first
    rehearsal: Mapping[str, Any]  # of the packaged winner, in a clean process
    answers: tuple[str, ...]  # what contradicts itself in the winner's answers
    export: tuple[ExportDifference, ...]  # of the winner's forms from its trained weights
    behaviour: tuple[Case, ...]


@dataclass(frozen=True)
class Measurements:
    """What was measured of all that is compared."""

    data: DataFacts
    scores: ScoreTable
    champion: ChampionFacts | None
    runtime: RuntimeFacts


def _describe_facts(measured: Measurements) -> dict[str, Any]:
    """Return what evidence.json says of measurements; scores of rows are in predictions.parquet."""
    champion = measured.champion and asdict(measured.champion)
    return {
        "data": asdict(measured.data),
        "metrics": measured.scores.describe_metrics(),
        "bound": measured.scores.describe_bound(),
        "changes": champion and champion.pop("changes"),
        "champion": champion,
        **asdict(measured.runtime),
    }


def store_measurements(measured: Measurements) -> tuple[dict[str, Any], Measurements]:
    """Write scores to reports/predictions.parquet; return the facts, and both as they are read."""
    measured.scores.write()
    facts: dict[str, Any] = json.loads(format_json(_describe_facts(measured)))
    return facts, read_measurements(facts, measured.scores.metric)


def read_measurements(
    facts: Mapping[str, Any], metric: Metric, predictions: Path = layout.PREDICTIONS
) -> Measurements:
    """Read measurements from evidence.json and predictions.parquet.

    ValueError or LookupError where that is not what `store_measurements` returned and wrote,
    EvidenceError where rows or means are others.
    """
    champion = facts["champion"]
    if champion is not None:
        champion = _read(ChampionFacts, champion | {"changes": facts["changes"]})
    return Measurements(
        data=_read(DataFacts, facts["data"]),
        scores=read_scores(facts, metric, predictions),
        champion=champion,
        runtime=_read(RuntimeFacts, facts),
    )


def _read(kind: type[T], values: Any) -> T:
    """Read a record; ValueError names the first value that is not one of its fields."""
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{kind.__name__}.{place}: {first['msg']}") from None
