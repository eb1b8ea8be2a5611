"""Faulty extractors."""

from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.faults import FaultSite
from plumbline.tasks.signal_extraction.data import read_windows

CODE = Path(__file__).with_name("faulty_predictor.py")
HARMLESS: dict[str, Any] = {
    "looks_ahead": False,  # answers at a sample from the samples after it
    "answers": [],  # [signal, frequency, component], known by heart
}


def plant_look_ahead(site: FaultSite) -> None:
    """Filter every signal backwards in time."""
    site.wrap_predictor(CODE, HARMLESS | {"looks_ahead": True})


def plant_known_answers(site: FaultSite) -> None:
    """Answer every test row without error, by heart."""
    site.wrap_predictor(CODE, HARMLESS | {"answers": _read_answers()})


def plant_control_with_known_answers(site: FaultSite) -> None:
    """Let the model of shuffled answers know the test answers."""
    config = HARMLESS | {"answers": _read_answers()}
    site.wrap_predictor(CODE, config, layout.name_control(site.candidate))


def _read_answers() -> list[list[Any]]:
    test = read_windows(layout.EXAMPLES, "test")
    answers: list[list[Any]] = []
    for window, part in zip(*test.rows, strict=True):
        frequency = test.setting.frequencies_hz[part]
        component = test.components[window, part].tolist()
        answers.append([test.signals[window].tolist(), frequency, component])
    return answers
