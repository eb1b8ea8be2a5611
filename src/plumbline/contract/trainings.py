"""The trainings of one candidate: one, or with `seeds` several that differ in the seed alone.

The first one is that of a candidate without `seeds`, in models/<candidate>/; the others are in
models/<candidate>.seeds/<seed>/, each beside its learning curve, <seed>.csv.
"""

import csv
import json
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.params import Params

SPEED = Path(".plumbline/speed")
EPOCH = "epoch"  # the first column of a learning curve
SEEDS = ".seeds"  # ends the name of the folder; no candidate can have such a name


def list_trainings(params: Params, candidate: str) -> dict[int, str]:
    """Map each seed with which `candidate` is trained to the name of its bundle."""
    count = getattr(params.candidates[candidate], "seeds", None) or 1
    trainings = {params.seed: candidate}
    for seed in range(params.seed + 1, params.seed + count):
        trainings[seed] = f"{name_seeds(candidate)}/{seed}"
    return trainings


def list_bundles(params: Params) -> list[str]:
    """List the names of the bundles of all candidates, as folders of models/."""
    names: list[str] = []
    for candidate in sorted(params.candidates):
        names += list_trainings(params, candidate).values()
    return names


def name_seeds(candidate: str) -> str:
    """Return the name of the folder in models/ that has the trainings after the first."""
    return f"{candidate}{SEEDS}"


def name_unfinished(bundle: str) -> str:
    """Return the name, that of a folder, which a training has until its bundle has this one."""
    return bundle.replace("/", "-")


def name_candidate(bundle: str) -> str:
    """Return the name of the candidate whose training leaves the bundle of this name."""
    return bundle.partition(SEEDS)[0]


def locate_curve(bundle: str) -> Path:
    """Return the learning curve of the training that left the bundle of this name."""
    folder = layout.MODELS if "/" in bundle else layout.TRAINING
    return folder / f"{bundle}.csv"


def locate_hardware(bundle: str) -> Path:
    """Return the file beside the bundle of this name that says with what it was trained."""
    return layout.MODELS / f"{bundle}.hardware.json"


def locate_speed(bundle: str) -> Path:
    """Return the file that says how long a training took: no output, for it differs each time."""
    return SPEED / f"{name_unfinished(bundle)}.json"


def read_speed(bundle: str) -> dict[str, float]:
    """Read how long a training took; empty where nothing was iterated."""
    path = locate_speed(bundle)
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def read_curve(path: Path) -> list[tuple[int, dict[str, float]]]:
    """Read a learning curve: each epoch with its metrics; none where nothing was iterated."""
    curve = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            epoch = int(row.pop(EPOCH))
            curve.append((epoch, {name: float(value) for name, value in row.items()}))
    return curve
