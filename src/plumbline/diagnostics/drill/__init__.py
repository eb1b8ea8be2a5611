"""The whole life of a model on one machine, as a person would live it: every step is done, checked and told.

All of it happens in a clone of this checkout below .plumbline/, with a registry of its own, which stays there.
"""

from collections.abc import Callable
from pathlib import Path

from plumbline.diagnostics.drill import steps
from plumbline.diagnostics.drill.scene import Scene

FOLDER = Path(".plumbline/drill")
STEPS: tuple[tuple[str, Callable[[Scene], str]], ...] = (
    ("train a first model", steps.train),
    ("promote it", steps.promote),
    ("serve it, and let people ask", steps.serve),
    ("train a bad model: it is refused", steps.refuse),
    ("a label is renamed upstream: the canary is returned", steps.canary),
    ("the world changes: drift is seen, and asks for training once it lasts", steps.drift),
    ("train on what is new", steps.retrain),
    ("promote that, while people ask", steps.replace),
    ("go back", steps.rollback),
    ("everything that was decided", steps.account),
)


def run(say: Callable[[str], None]) -> None:
    """Do all steps. PlumblineError says which did not come out as it should."""
    scene = Scene.cloned(FOLDER, say)
    for number, (title, step) in enumerate(STEPS, 1):
        say(f"\n{number}. {title}")
        say(f"   {step(scene)}")
