"""The door of the task: one record of plain functions, heavy modules imported only when their stage calls them."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from plumbline.contract.params import Params
from plumbline.contract.task import (
    Bound,
    Candidate,
    Case,
    Check,
    Field,
    Figure,
    Leak,
    Learner,
    Metric,
    Param,
    Predictor,
    Scores,
    Signature,
    Task,
)
from plumbline.tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = {"type": "array", "items": {"type": "double"}}


def _ingest(params: Params, examples: Path, manifest: Path) -> dict[str, Any]:
    from plumbline.tasks.signal_extraction.data import ingest

    return ingest(cast(SignalParams, params), examples, manifest)


def _table(
    params: Params, examples: Path, manifest: "pd.DataFrame", facts: Mapping[str, Any]
) -> "pd.DataFrame":
    from plumbline.tasks.signal_extraction.expectations import table

    return table(cast(SignalParams, params), examples, manifest, facts)


def _expectations(params: Params, table: "pd.DataFrame") -> list[Check]:
    from plumbline.tasks.signal_extraction.expectations import expectations

    return expectations(cast(SignalParams, params), table)


def _learner(params: Params, candidate: str, examples: Path) -> Learner:
    from plumbline.tasks.signal_extraction.models import learner

    return learner(cast(SignalParams, params), candidate, examples)


def _permuted(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    from plumbline.tasks.signal_extraction.data import permuted

    permuted(examples, target, seed, max_rows)


def _inputs(examples: Path, split: str) -> dict[str, list[Any]]:
    from plumbline.tasks.signal_extraction.scoring.scores import inputs

    return inputs(examples, split)


def _score(examples: Path, split: str, predictor: Predictor) -> Scores:
    from plumbline.tasks.signal_extraction.scoring.scores import score

    return score(examples, split, predictor)


def _baselines(params: Params, examples: Path) -> dict[str, Predictor]:
    from plumbline.tasks.signal_extraction.scoring.baselines import baselines

    return baselines(cast(SignalParams, params), examples)


def _bounds(params: Params, examples: Path, split: str) -> Bound:
    from plumbline.tasks.signal_extraction.scoring.baselines import bounds

    return bounds(cast(SignalParams, params), examples, split)


def _leaks(params: Params, examples: Path) -> list[Leak]:
    from plumbline.tasks.signal_extraction.expectations import leaks

    return leaks(cast(SignalParams, params), examples)


def _behaviour(params: Params, examples: Path, predictor: Predictor) -> list[Case]:
    from plumbline.tasks.signal_extraction.scoring.behaviour import behaviour

    return behaviour(cast(SignalParams, params), examples, predictor)


def _figures(params: Params, candidates: list[Candidate]) -> list[Figure]:
    from plumbline.tasks.signal_extraction.scoring.figures import figures

    return figures(cast(SignalParams, params), candidates)


TASK = Task(
    name="signal_extraction",
    metric=Metric("mse", higher_is_better=False, kind="continuous"),
    signature=Signature(
        inputs=(
            Field("signal", NUMBERS),
            Field("frequency_hz", "double"),
            Field("state", NUMBERS, required=False),
        ),
        outputs=(Field("component", NUMBERS), Field("state", NUMBERS)),
        params=(Param("sample_rate_hz", "double", None),),
    ),
    example={"signal": [[0.03, 0.05, 0.09, 0.11, 0.12]], "frequency_hz": [3.0]},
    faulty={
        "an empty signal": {"signal": [[]], "frequency_hz": [3.0]},
        "a missing sample": {"signal": [[0.1, None]], "frequency_hz": [3.0]},
        "a frequency that the model does not know": {"signal": [[0.1, 0.2]], "frequency_hz": [4.5]},
        "a state of another model": {
            "signal": [[0.1]],
            "frequency_hz": [3.0],
            "state": [[0.5] * 100_003],
        },
        "another column": {"samples": [[0.1, 0.2]], "frequency_hz": [3.0]},
    },
    predictor=Path(__file__).with_name("predictor.py"),
    requirements=("numpy", "onnxruntime", "safetensors"),
    ingest=_ingest,
    table=_table,
    expectations=_expectations,
    learner=_learner,
    permuted=_permuted,
    inputs=_inputs,
    score=_score,
    baselines=_baselines,
    bounds=_bounds,
    leaks=_leaks,
    behaviour=_behaviour,
    figures=_figures,
)
