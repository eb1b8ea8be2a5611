"""A model's whole life on one machine, as a person would live it: each step is done and checked.

All of it happens in a clone of this checkout below .plumbline/, with a registry of its own, which
stays there.
"""

from collections.abc import Callable
from pathlib import Path

from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.contract.task_packages import list_tasks
from plumbline.entrypoint import load_task
from plumbline_selftest.drill import steps
from plumbline_selftest.drill.scene import Scene
from plumbline_selftest.parts import find_drill
from plumbline_selftest.protocol import DrillPart

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
    scene = Scene.clone_checkout(FOLDER, loaded, _get_drill_part(loaded), say)
    for number, (title, step) in enumerate(STEPS, 1):
        say(f"\n{number}. {title}")
        say(f"   {step(scene)}")


def _get_drill_part(task: Task[Params]) -> DrillPart:
    part = find_drill(task)
    if part is None:
        others = [name for name in list_tasks() if find_drill(load_task(name)) is not None]
        raise ParamsError(
            f"the task {task.name} offers no drill: it has no "
            f"{task.package}.drill "
            f"(see `plumbline docs add-a-task`); tasks that have one: {', '.join(others) or 'none'}"
        )
    return part
