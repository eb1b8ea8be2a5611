"""Copied into a bundle as faulty.py: a designer of filters that is wrong as its config says.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

E12 = (1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2)
CLAIMED_DB = 146.0  # a noise figure that was called a success


def wrap(sound: Any, config: Mapping[str, Any]) -> "FaultyFilterPredictor":
    """Return a predictor that answers as `sound`, but for what `config` says."""
    return FaultyFilterPredictor(sound, config)


class FaultyFilterPredictor:
    """Asks the sound predictor, then changes its answers; models.HARMLESS lists the settings."""

    def __init__(self, sound: Any, config: Mapping[str, Any]) -> None:
        self.forms = sound.forms
        self._sound = sound
        self._config = config

    def predict(self, columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        """Answer every row, wrongly where the config says so."""
        if self._config["calls"]:
            params["budget"] = self._config["calls"]
        asked = dict(columns)
        if self._config["mirrored"]:
            asked = self._mirror(asked)
        answers: dict[str, list[Any]] = self._sound.predict(asked, **params)
        for row in range(len(columns["kind"])):
            is_mirrored = self._config["mirrored"] and columns["kind"][row] == "low-pass"
            for design in answers["designs"][row]:
                if is_mirrored:
                    design["topology"] = _find_other(design["topology"])
                if self._config["random_values"]:
                    _draw_values(design, row)
                if self._config["off_series"]:
                    values = [1.0137 * value for value in design["inductors_nh"]]
                    design["inductors_nh"] = values
            if self._config["other_netlist"]:
                answers["netlist"][row] = answers["netlist"][0]
            if self._config["claims_all"] or (
                self._config["claims_impossible"] and not answers["possible"][row]
            ):
                _claim(answers, row)
        return answers

    def _mirror(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Ask for the high-pass that a low-pass becomes where parts change places."""
        changed = columns | {name: list(columns[name]) for name in ("kind", "stop_hz")}
        for row, kind in enumerate(columns["kind"]):
            if kind == "low-pass":
                passed, stopped = columns["pass_hz"][row][0], columns["stop_hz"][row][0]
                changed["kind"][row] = "high-pass"
                changed["stop_hz"][row] = [passed * passed / stopped]
        return changed


def _find_other(topology: str) -> str:
    return "shunt_first" if topology == "series_first" else "series_first"


def _draw_values(design: dict[str, Any], row: int) -> None:
    """Put in values that a shop has, and that have nothing to do with the mask."""
    random = np.random.default_rng(row)
    for name in ("inductors_nh", "capacitors_pf"):
        values = random.choice(E12, len(design[name])) * 10.0 ** random.integers(
            0, 4, len(design[name])
        )
        design[name] = [float(f"{value:.3g}") for value in values]


def _claim(answers: dict[str, list[Any]], row: int) -> None:
    """Say that the mask is met."""
    answers["meets_spec"][row] = True
    answers["margin_db"][row] = CLAIMED_DB
    for design in answers["designs"][row]:
        design["margin_db"] = CLAIMED_DB
