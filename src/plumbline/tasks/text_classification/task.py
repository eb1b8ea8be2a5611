"""The record of the task: what stages know of it before they import one of its parts."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.contract.task import Field, Metric, Param, Signature, Task
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    from plumbline.contract.parts import DataPart, ExpectationsPart, ModelsPart, ScoringPart
    from plumbline.tasks.text_classification import data, expectations, models, scoring

    _data: DataPart[TextParams] = data
    _expectations: ExpectationsPart[TextParams] = expectations
    _models: ModelsPart[TextParams] = models
    _scoring: ScoringPart[TextParams] = scoring

_define_score = partial(Metric, higher_is_better=True, kind="continuous", perfect=1.0)
TASK = Task[TextParams](
    name="text_classification",
    package="plumbline.tasks.text_classification",
    metric=Metric("accuracy", higher_is_better=True, kind="binary"),
    metrics={
        "balanced_accuracy": _define_score("balanced_accuracy"),
        "macro_f1": _define_score("macro_f1", of_whole_split=True),
        "average_precision": _define_score("average_precision", of_whole_split=True),
        "jaccard": _define_score("jaccard"),
        "nll": Metric("nll", higher_is_better=False, kind="continuous"),
        "expected_cost": Metric("expected_cost", higher_is_better=False, kind="continuous"),
    },
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
            # Of an ensemble, in nats.
            Field("epistemic", "double", required=False),
            Field("aleatoric", "double", required=False),
            # Of a model of sets of labels; `label` has them as one text.
            Field("labels", {"type": "array", "items": {"type": "string"}}, required=False),
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
)
