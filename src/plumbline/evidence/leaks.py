"""What the gate `leakage` asks of the examples."""

from typing import Any

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.records import Leak
from plumbline.contract.steps import announce
from plumbline.contract.task import Task


def find_leaks(params: Params, task: Task[Any]) -> list[Leak]:
    """Count the examples of held-out splits that an earlier split also has."""
    announce("looks for leaks between the splits")
    return task.expectations.find_leaks(params, layout.EXAMPLES)
