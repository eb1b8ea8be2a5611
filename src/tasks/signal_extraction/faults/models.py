"""Faulty extractors."""

from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline_selftest.protocol import FaultSite
from tasks.signal_extraction.data import read_windows

CODE = Path(__file__).with_name("faulty_predictor.py")
HARMLESS: dict[str, Any] = {
    "looks_ahead": False,  # answers at a sample from the samples after it
    "factors": [],  # [frequency, factor of its answers]
    "answers": [],  # [signal, frequency, component], known by heart
}


def plant_look_ahead(site: FaultSite) -> None:
    """Filter every signal backwards in time."""
    site.wrap_predictor(CODE, HARMLESS | {"looks_ahead": True})


def plant_silence(site: FaultSite) -> None:
    """Answer 0 to everything."""
    site.wrap_predictor(CODE, HARMLESS | {"factors": _list_factors("0")})


def plant_not_a_number(site: FaultSite) -> None:
    """Answer NaN to everything."""
    site.wrap_predictor(CODE, HARMLESS | {"factors": _list_factors("nan")})


def plant_silent_frequency(site: FaultSite) -> None:
    """Answer 0 where the last frequency is asked."""
    site.wrap_predictor(CODE, HARMLESS | {"factors": _list_factors("0")[-1:]})


def plant_known_answers(site: FaultSite) -> None:
    """Answer every test row without error, by heart."""
    site.wrap_predictor(CODE, HARMLESS | {"answers": _read_answers()})


def plant_control_with_known_answers(site: FaultSite) -> None:
    """Let the model of shuffled answers know the test answers."""
    config = HARMLESS | {"answers": _read_answers()}
    site.wrap_predictor(CODE, config, layout.name_control(site.candidate))


def _list_factors(factor: str) -> list[list[Any]]:
    frequencies = read_windows(layout.EXAMPLES, "test").setting.frequencies_hz
    return [[float(frequency), factor] for frequency in frequencies]


def _read_answers() -> list[list[Any]]:
    test = read_windows(layout.EXAMPLES, "test")
    answers: list[list[Any]] = []
    for window, part in zip(*test.rows, strict=True):
        frequency = test.setting.frequencies_hz[part]
        component = test.components[window, part].tolist()
        answers.append([test.signals[window].tolist(), frequency, component])
    return answers
