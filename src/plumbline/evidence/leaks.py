"""What the gate `leakage` asks of the examples, on the engine that this command was given."""

from typing import Any

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.records import Leak
from plumbline.contract.steps import announce
from plumbline.contract.task import Task
from plumbline.spark.row_engine import use_named_engine


def find_leaks(params: Params, task: Task[Any]) -> list[Leak]:
    """Count the examples of held-out splits that an earlier split also has."""
    announce("looks for leaks between the splits")
    with use_named_engine("leaks"):
        return task.expectations.find_leaks(params, layout.EXAMPLES)
