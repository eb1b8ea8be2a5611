"""Faulty designers of filters."""

import re
from pathlib import Path
from typing import Any

from plumbline_selftest.protocol import FaultSite
from tasks.filter_design.faults.fixture import read_fixture

CODE = Path(__file__).with_name("faulty_predictor.py")
HARMLESS: dict[str, Any] = {
    "mirrored": False,  # low-passes are simulated as high-passes
    "random_values": False,  # values that a shop has, drawn at random
    "off_series": False,  # values that no shop has
    "other_netlist": False,  # every row gets the netlist of the first one
    "claims_all": False,  # every mask is said to be met
    "claims_impossible": False,  # every impossible mask is said to be met
    "calls": 0,  # of the simulator, whatever the request allows
}


def plant_mirrored_simulator(site: FaultSite) -> None:
    """Simulate low-passes with inductors and capacitors exchanged."""
    site.wrap_predictor(CODE, HARMLESS | {"mirrored": True})


def plant_claims(site: FaultSite) -> None:
    """Say of every mask that it is met, by 146 dB."""
    site.wrap_predictor(CODE, HARMLESS | {"claims_all": True})


def plant_impossible_claims(site: FaultSite) -> None:
    """Say of every impossible mask that it is met."""
    site.wrap_predictor(CODE, HARMLESS | {"claims_impossible": True})


def plant_random_values(site: FaultSite) -> None:
    """Answer values that a netlist accepts, drawn at random."""
    site.wrap_predictor(CODE, HARMLESS | {"random_values": True})


def plant_values_off_series(site: FaultSite) -> None:
    """Answer inductors that nobody sells."""
    site.wrap_predictor(CODE, HARMLESS | {"off_series": True})


def plant_other_netlist(site: FaultSite) -> None:
    """Write the netlist of another filter."""
    site.wrap_predictor(CODE, HARMLESS | {"other_netlist": True})


def plant_more_calls(site: FaultSite) -> None:
    """Simulate 64 designs, where candidate and baselines have a few."""
    site.wrap_predictor(CODE, HARMLESS | {"calls": 64})


def plant_bayesian_optimisation(site: FaultSite) -> None:
    """Sell Bayesian optimisation as an improvement."""
    site.edit_params(find_network(read_fixture()), "{kind: bayesian, calls: 2}")
    site.retrain()


def find_network(text: str) -> str:
    """Return the config of the fixture's candidate, as it is written in params.yaml."""
    config = re.search(r"\{kind: regression.*\}", text)
    if config is None:
        raise LookupError("the fixture has no candidate of kind regression")
    return config[0]
