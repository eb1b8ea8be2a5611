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
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pandas as pd


def _ingest(params: Params, examples: Path, manifest: Path) -> dict[str, Any]:
    from plumbline.tasks.text_classification.data import ingest

    return ingest(cast(TextParams, params), examples, manifest)


def _table(
    params: Params, examples: Path, manifest: "pd.DataFrame", facts: Mapping[str, Any]
) -> "pd.DataFrame":
    from plumbline.tasks.text_classification.expectations import table

    return table(cast(TextParams, params), examples, manifest, facts)


def _expectations(params: Params, table: "pd.DataFrame") -> list[Check]:
    from plumbline.tasks.text_classification.expectations import expectations

    return expectations(cast(TextParams, params), table)


def _learner(params: Params, candidate: str, examples: Path) -> Learner:
    from plumbline.tasks.text_classification.models import learner

    return learner(cast(TextParams, params), candidate, examples)


def _inputs(examples: Path, split: str) -> dict[str, list[Any]]:
    from plumbline.tasks.text_classification.scoring.scores import inputs

    return inputs(examples, split)


def _score(examples: Path, split: str, predictor: Predictor) -> Scores:
    from plumbline.tasks.text_classification.scoring.scores import score

    return score(examples, split, predictor)


def _permuted(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    from plumbline.tasks.text_classification.data import permuted

    permuted(examples, target, seed, max_rows)


def _leaks(params: Params, examples: Path) -> list[Leak]:
    from plumbline.tasks.text_classification.expectations.leaks import leaks

    return leaks(cast(TextParams, params), examples)


def _baselines(params: Params, examples: Path) -> dict[str, Predictor]:
    from plumbline.tasks.text_classification.scoring.baselines import baselines

    return baselines(cast(TextParams, params), examples)


def _bounds(params: Params, examples: Path, split: str) -> Bound:
    from plumbline.tasks.text_classification.scoring.baselines import bounds

    return bounds(cast(TextParams, params), examples, split)


def _behaviour(params: Params, examples: Path, predictor: Predictor) -> list[Case]:
    from plumbline.tasks.text_classification.scoring.behaviour import behaviour

    return behaviour(cast(TextParams, params), examples, predictor)


def _figures(params: Params, candidates: list[Candidate]) -> list[Figure]:
    from plumbline.tasks.text_classification.scoring.figures import figures

    return figures(cast(TextParams, params), candidates)


TASK = Task(
    name="text_classification",
    metric=Metric("accuracy", higher_is_better=True, kind="binary"),
    signature=Signature(
        inputs=(Field("text", "string"),),
        outputs=(
            Field("label", "string"),
            Field("score", "double"),
            Field(
                "scores",
                {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "label": {"type": "string", "required": True},
                            "score": {"type": "double", "required": True},
                        },
                    },
                },
            ),
            Field("abstained", "boolean"),
        ),
        params=(Param("top_k", "long", 3), Param("threshold", "double", 0.0)),
    ),
    example={"text": ["I was charged twice for one order"]},
    faulty={
        "a missing text": {"text": [None]},
        "an empty text": {"text": [""]},
        "a number": {"text": [81.56]},
        "a text of a million characters": {"text": ["x" * 1_000_000]},
        "another column": {"body": ["where is my parcel"]},
    },
    predictor=Path(__file__).with_name("predictor.py"),
    requirements=("numpy", "onnxruntime", "safetensors", "tokenizers"),
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
