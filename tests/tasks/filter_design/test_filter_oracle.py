"""Both simulators of ladders against textbooks, each other, the laws of circuits, and ngspice."""

import math
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import signal
from tests.support.small_filters import KINDS, build_specification, draw_random_values

from tasks.filter_design.data.specifications import Specification, list_columns
from tasks.filter_design.predictor import TextbookPredictor
from tasks.filter_design.predictor.ladder import build_ladder as build_searched_ladder
from tasks.filter_design.predictor.ladder import find_prototype
from tasks.filter_design.predictor.rows import read_specs
from tasks.filter_design.predictor.search import FilterDesign, check_stopbands
from tasks.filter_design.scoring.oracle import (
    TOPOLOGIES,
    LadderDesign,
    compute_loss,
    compute_margin,
    compute_margins,
    read_ladder,
)

PROTOTYPE = np.geomspace(0.05, 20, 25)  # frequencies of a low-pass whose edge is 1
LOSSLESS = {"q_inductor": math.inf, "q_capacitor": math.inf}


def map_frequencies(specification: Specification, prototype: np.ndarray) -> np.ndarray:
    """Frequencies in Hz at which the filter is what its low-pass prototype is at `prototype`."""
    centre = specification.centre_hz
    if specification.kind == "low-pass":
        return centre * prototype
    if specification.kind == "high-pass":
        return centre / prototype
    half = prototype * specification.bandwidth / 2
    return centre * (half + np.sqrt(1 + half**2))


def build_ladder(
    specification: Specification, topology: str, values: np.ndarray
) -> tuple[LadderDesign, np.ndarray]:
    """The ladder whose low-pass prototype has `values`, and its parts in the order of branches."""
    kind, impedance = specification.kind, specification.z0_ohm
    centre = 2 * math.pi * specification.centre_hz
    inductors, capacitors, parts = [], [], []
    for branch, value in enumerate(values):
        in_series = (branch % 2 == 0) == (topology == "series_first")
        if kind == "band-pass":
            slope = value / specification.bandwidth
            normal = (slope, 1 / slope) if in_series else (1 / slope, slope)
        elif kind == "low-pass":
            normal = (value, None) if in_series else (None, value)
        else:
            normal = (None, 1 / value) if in_series else (1 / value, None)
        inductor, capacitor = normal
        if inductor is not None:
            inductors.append(inductor * impedance / centre)
            parts.append(inductors[-1])
        if capacitor is not None:
            capacitors.append(capacitor / impedance / centre)
            parts.append(capacitors[-1])
    ladder = LadderDesign(topology, len(values), tuple(inductors), tuple(capacitors))
    return ladder, np.array(parts)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ripple_db", [0.1, 3.0])
@pytest.mark.parametrize("order", [3, 5, 7])
def test_chebyshev_is_that_of_scipy(order: int, ripple_db: float, kind: str, topology: str) -> None:
    specification = build_specification(kind, **LOSSLESS)
    ladder, _ = build_ladder(specification, topology, find_prototype(order, ripple_db))
    loss = compute_loss(specification, ladder, map_frequencies(specification, PROTOTYPE))
    _, response = signal.freqs_zpk(*signal.cheb1ap(order, ripple_db), worN=PROTOTYPE)
    np.testing.assert_allclose(loss, -20 * np.log10(np.abs(response)), atol=1e-9)


def list_stopband(specification: Specification) -> np.ndarray:
    """The frequencies at which the mask asks for attenuation, 0.01 % apart."""
    beyond = np.geomspace(1, 5, 16_000)
    above, below = specification.stop_hz[-1] * beyond, specification.stop_hz[0] / beyond
    parts = {"low-pass": [above], "high-pass": [below], "band-pass": [below, above]}
    return np.concatenate(parts[specification.kind])


def measure_with_predictor(
    specification: Specification, ladder: LadderDesign, parts: np.ndarray
) -> float:
    """The margin that the predictor gives a design; the passband leaves any room."""
    spec = read_specs(list_columns([specification]))[0]
    impedance, speed = specification.z0_ohm, 2 * math.pi * specification.centre_hz
    is_inductor = np.isin(parts, ladder.inductors)
    units = np.where(is_inductor, impedance / speed, 1 / (impedance * speed))
    logs = np.log(parts / units)
    design = FilterDesign(ladder.topology, ladder.order, parts, math.inf, 1, logs)
    return check_stopbands(build_searched_ladder(spec, ladder.order), [design])[0].margin_db


@pytest.mark.parametrize("kind", KINDS)
def test_the_least_attenuation_is_found_wherever_parts_resonate(kind: str) -> None:
    random = np.random.default_rng(KINDS.index(kind))
    num_missed = 0
    for _ in range(20):
        order = 3 if kind == "band-pass" else 7
        specification = build_specification(
            kind,
            order=order,
            max_loss_db=100.0,  # so the stopband decides
            min_attenuation_db=300.0,
            q_inductor=float(random.uniform(20, 1000)),
        )
        topology = TOPOLOGIES[int(random.integers(2))]
        ladder, parts = build_ladder(specification, topology, draw_random_values(order, random))
        swept = float(compute_loss(specification, ladder, list_stopband(specification)).min())
        expected = swept - specification.min_attenuation_db
        margin = compute_margin(specification, ladder)
        assert expected - 0.01 < margin < expected + 1e-9
        measured = measure_with_predictor(specification, ladder, parts)
        assert measured == pytest.approx(margin, abs=1e-6)
        num_missed += compute_margins(specification, ladder) > margin + 0.1
    assert num_missed or kind == "band-pass", "the mask's points alone miss dips"


def run_ngspice(netlist: str, folder: Path) -> np.ndarray:
    """Frequencies and V(out) in dB [F, 2] that ngspice prints for the netlist."""
    path = folder / "filter.cir"
    path.write_text(netlist)
    command = ["ngspice", "-b", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    rows = re.findall(r"^\d+\s+(\S+)\s+(\S+)\s*$", done.stdout, re.MULTILINE)
    return np.array(rows, dtype=float)


@pytest.mark.skipif(not shutil.which("ngspice"), reason="ngspice is not installed")
def test_a_netlist_runs_as_it_is(tmp_path: Path) -> None:
    for kind in KINDS:
        specification = build_specification(kind)
        answer = TextbookPredictor().predict(list_columns([specification]), designs=1)
        table = run_ngspice(answer["netlist"][0], tmp_path)
        ladder = read_ladder(answer["designs"][0][0])
        expected = -compute_loss(specification, ladder, table[:, 0])
        np.testing.assert_allclose(table[:, 1], expected, atol=2e-3)
