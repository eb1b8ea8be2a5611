"""A model's whole life on one machine, as a person would live it: each step is done and checked.

All of it happens in a clone of this checkout below .plumbline/, with a registry of its own, which
stays there.
"""

from collections.abc import Callable
from pathlib import Path

from plumbline.entrypoint import load_task
from plumbline_selftest.drill import steps
from plumbline_selftest.drill.scene import Scene
from plumbline_selftest.parts import get_drill_part

FOLDER = Path(".plumbline/drill")
STEPS: tuple[tuple[str, Callable[[Scene], str]], ...] = (
    ("train a first model", steps.train_first),
    ("promote it", steps.promote_first),
    ("serve it, and answer requests", steps.serve_rows),
    ("train a bad model: it is refused", steps.refuse_bad_model),
    ("a label is renamed upstream: the canary is returned", steps.return_canary),
    ("the world changes: drift that persists requests a retraining", steps.watch_drift),
    ("train on what is new", steps.retrain),
    ("promote that, during requests", steps.replace_champion),
    ("go back", steps.roll_back),
    ("everything that was decided", steps.show_journal),
)


def run(task: str, say: Callable[[str], None]) -> None:
    """Do all steps on `task`.

    Raises ParamsError if the task offers no drill, PlumblineError for a step that went wrong.
    """
    loaded = load_task(task)
    scene = Scene.clone_checkout(FOLDER, loaded, get_drill_part(loaded), say)
    for number, (title, step) in enumerate(STEPS, 1):
        say(f"\n{number}. {title}")
        say(f"   {step(scene)}")
