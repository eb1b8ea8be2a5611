"""Specifications of filters in seconds: parameters, examples on disk, and random ladders."""

from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.yaml_file import load_yaml
from tasks.filter_design.data.specifications import Specification
from tasks.filter_design.params import FilterParams

ROOT = Path(__file__).resolve().parents[2]
ROWS = {"train": 60, "validation": 40, "test": 120}
KINDS = ("low-pass", "high-pass", "band-pass")
EASY: dict[str, Any] = {"max_loss_db": 1.0, "min_attenuation_db": 25.0, "q_inductor": 80.0}
EDGES = {
    "low-pass": ((3.0e7,), (5.0e7,)),
    "high-pass": ((5.0e7,), (3.0e7,)),
    "band-pass": ((3.0e7, 5.0e7), (2.0e7, 7.5e7)),
}


def list_values() -> dict[str, Any]:
    """The recipe with few rows, few calls for train designs, and the textbook alone."""
    values: dict[str, Any] = load_yaml(ROOT / "recipes/filter_design.yaml")
    values["data"]["search_calls"] = 8
    values["data"]["generated"] |= {"rows": ROWS, "open_order": 0.3}
    values["candidates"] = {"textbook": {"kind": "textbook", "calls": 64}}
    values["control"] = {"candidates": [], "max_rows": 60}
    values["validation"]["min_rows"] = 20
    values["training"] |= {"device": "cpu", "checkpoint_every_steps": 3}
    return values


def build_params() -> FilterParams:
    """As `list_values`, checked."""
    return FilterParams.model_validate(list_values())


def build_specification(kind: str = "low-pass", **values: Any) -> Specification:
    """A specification of 50 ohm that can be met."""
    pass_hz, stop_hz = EDGES[kind]
    chosen = {"pass_hz": pass_hz, "stop_hz": stop_hz, "order": 3 if kind == "band-pass" else 5}
    return Specification(kind=kind, **EASY | chosen | values)


def draw_random_values(num_parts: int, random: np.random.Generator) -> np.ndarray:
    """Normalised values of parts, within a decade of 1."""
    values: np.ndarray = np.exp(random.uniform(-1.2, 1.2, num_parts))
    return values
