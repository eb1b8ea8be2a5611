"""The record of the task: what stages know of it before they import one of its parts."""

from pathlib import Path

from plumbline.contract.task import Field, Metric, Param, Signature, Task
from tasks.answer_consensus.params import ConsensusParams

TEXTS = {"type": "array", "items": {"type": "string"}}
VOTES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "answer": {"type": "string", "required": True},
            "share": {"type": "double", "required": True},
        },
    },
}

TASK = Task[ConsensusParams](
    name="answer_consensus",
    package="tasks.answer_consensus",
    metric=Metric("accuracy", higher_is_better=True, kind="binary", cost_unit="$"),
    signature=Signature(
        inputs=(
            Field("agents", TEXTS),
            Field("answers", TEXTS),
            Field("budget", "double"),
        ),
        outputs=(
            Field("ask", "string"),
            Field("answer", "string"),
            Field("confidence", "double"),
            Field("votes", VOTES),
        ),
        params=(Param("stop_at", "double", None),),
    ),
    example={"agents": [[]], "answers": [[]], "budget": [1.0]},
    faulty={
        "an agent that the model does not know": {
            "agents": [["nobody at all"]],
            "answers": [["42"]],
            "budget": [1.0],
        },
        "more answers than agents": {"agents": [[]], "answers": [["42"]], "budget": [1.0]},
        "a budget that is not a number": {"agents": [[]], "answers": [[]], "budget": [None]},
        "an answer that is not text": {"agents": [[]], "answers": [[42.0]], "budget": [1.0]},
        "another column": {"asked": [[]], "answers": [[]], "budget": [1.0]},
    },
    predictor=Path(__file__).with_name("predictor.py"),
    requirements=("numpy",),
)
