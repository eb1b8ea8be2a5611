"""The record of the task: what stages know of it before they import one of its parts."""

from pathlib import Path

from plumbline.contract.task import Field, Metric, Param, Signature, Task
from tasks.retrieval.params import RetrievalParams

TEXTS = {"type": "array", "items": {"type": "string"}}
NUMBERS = {"type": "array", "items": {"type": "double"}}

TASK = Task[RetrievalParams](
    name="retrieval",
    package="tasks.retrieval",
    metric=Metric("ndcg_at_10", higher_is_better=True, kind="continuous", perfect=1.0),
    signature=Signature(
        inputs=(Field("query", "string"),),
        outputs=(
            Field("id", "string"),
            Field("ids", TEXTS),
            Field("scores", NUMBERS),
            # Empty unless they are asked for.
            Field("texts", TEXTS),
            Field("vector", NUMBERS),
            Field("tokens", "long"),
        ),
        params=(
            Param("top_k", "long", 10),
            Param("texts", "boolean", False),
            Param("vectors", "boolean", False),
            Param("passages", "boolean", False),
        ),
    ),
    example={"query": ["how do I get my money back"]},
    faulty={
        "a missing query": {"query": [None]},
        "an empty query": {"query": [" "]},
        "a number": {"query": [81.56]},
        "a query of a million characters": {"query": ["x" * 1_000_000]},
        "another column": {"question": ["how do I get my money back"]},
    },
    predictor=Path(__file__).with_name("predictor.py"),
    requirements=("numpy", "onnxruntime", "safetensors", "tokenizers"),
)
