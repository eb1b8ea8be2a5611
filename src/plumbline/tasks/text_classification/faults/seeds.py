"""Candidates that are trained with several seeds: one is lucky, one fails, all are sound."""

import shutil
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.trainings import list_trainings
from plumbline.tasks.text_classification.faults.fixture import FEATURES, FEW_FEATURES
from plumbline_selftest.protocol import Fault, FaultSite

KIND = "    kind: linear\n"
NUM_SEEDS = 3
NUM_SOUND_SEEDS = 5


def plant_lucky_seed(site: FaultSite) -> None:
    """Let the first seed be the sound model, and the others what the champion is."""
    first = layout.locate_bundle(site.candidate)
    sound = first.rename("sound")
    site.edit_params(FEATURES, FEW_FEATURES)
    site.retrain()
    site.edit_params(FEW_FEATURES, FEATURES)
    weak = first.rename("weak")
    sound.rename(first)
    _, *others = _ask_seeds(site, NUM_SEEDS)
    for folder in others:
        shutil.copytree(weak, folder)


def plant_failed_seed(site: FaultSite) -> None:
    """Let two seeds be the sound model, and one what learned from shuffled labels."""
    first, same, failed = _ask_seeds(site, NUM_SEEDS)
    shutil.copytree(first, same)
    shutil.copytree(layout.locate_bundle(layout.name_control(site.candidate)), failed)


def plant_sound_seeds(site: FaultSite) -> None:
    """Train the sound model with several seeds."""
    _ask_seeds(site, NUM_SOUND_SEEDS)
    site.retrain()


def _ask_seeds(site: FaultSite, count: int) -> list[Path]:
    """Write `seeds` into params, and return where the bundle of each has to be."""
    site.edit_params(KIND, f"{KIND}    seeds: {count}\n")
    trainings = list_trainings(site.params, site.candidate)
    return [layout.locate_bundle(name) for name in trainings.values()]


FAULTS = (
    Fault("one lucky seed among three", "champion", "keep", plant_lucky_seed),
    Fault("a gain that one of three seeds does not have", "champion", "keep", plant_failed_seed),
    Fault("a better model with five seeds", "none", "promote", plant_sound_seeds),
)
