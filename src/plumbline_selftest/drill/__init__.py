"""A model's whole life on one machine, as a person would live it: each step is done and checked.

All of it happens in a clone of this checkout below .plumbline/, with a registry of its own, which
stays there.
"""

from collections.abc import Callable
from pathlib import Path

from plumbline.contract.loading import load_task
from plumbline_selftest.drill.scene import Scene
from plumbline_selftest.drill.steps import STEPS
from plumbline_selftest.parts import get_drill_part

__all__ = ["FOLDER", "STEPS", "run"]

FOLDER = Path(".plumbline/drill")


def run(task: str, say: Callable[[str], None]) -> None:
    """Do all steps on `task`.

    Raises ParamsError if the task offers no drill, PlumblineError for a step that went wrong.
    """
    loaded = load_task(task)
    scene = Scene.clone_checkout(FOLDER, loaded, get_drill_part(loaded), say)
    for number, (title, step) in enumerate(STEPS, 1):
        say(f"\n{number}. {title}")
        say(f"   {step(scene)}")
