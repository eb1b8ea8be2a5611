"""Faulty predictors of sequences."""

from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline_selftest.protocol import FaultSite
from tasks.sequence_bayes.data import read_sequences, read_strata

CODE = Path(__file__).with_name("faulty_predictor.py")
KNOWN_SHARE = 0.1  # of test, known by heart
HARMLESS: dict[str, Any] = {
    "uniform": 0.0,  # share of the answer in which all symbols are equally probable
    "repeated": 0.0,  # share of the answer that follows the last symbol
    "factor": 1.0,  # of all probabilities
    "known": [],  # sequences known by heart
    "by_chance": [],  # histories that are answered as if nothing were known
    "empty_uncertainty": False,
}


def plant_uniform(site: FaultSite) -> None:
    """Answer that all symbols are equally probable."""
    site.wrap_predictor(CODE, HARMLESS | {"uniform": 1.0})


def plant_improper(site: FaultSite) -> None:
    """Answer probabilities that add up to 1.05, which would beat Bayes' rule."""
    site.wrap_predictor(CODE, HARMLESS | {"factor": 1.05})


def plant_repetition(site: FaultSite) -> None:
    """Let a fifth of the answer follow the last symbol."""
    site.wrap_predictor(CODE, HARMLESS | {"repeated": 0.2})


def plant_empty_uncertainty(site: FaultSite) -> None:
    """Answer an epistemic part that depends on nothing but the first symbols."""
    site.wrap_predictor(CODE, HARMLESS | {"empty_uncertainty": True})


def plant_chance_on_high(site: FaultSite) -> None:
    """Answer the sequences of the last stratum by chance."""
    sequences = read_sequences(layout.EXAMPLES, "test")
    strata = read_strata(layout.EXAMPLES, "test")
    last = sequences[strata == strata.max()]
    site.wrap_predictor(CODE, HARMLESS | {"by_chance": last[:, :-1].tolist()})


def plant_known_sequences(site: FaultSite) -> None:
    """Know some of the test sequences by heart."""
    site.wrap_predictor(CODE, HARMLESS | {"known": _read_known(KNOWN_SHARE)})


def plant_control_with_known_sequences(site: FaultSite) -> None:
    """Let the model of shuffled symbols know the test sequences."""
    config = HARMLESS | {"known": _read_known(1.0)}
    site.wrap_predictor(CODE, config, layout.name_control(site.candidate))


def _read_known(share: float) -> list[list[int]]:
    sequences = read_sequences(layout.EXAMPLES, "test")
    known: list[list[int]] = sequences[: round(share * len(sequences))].tolist()
    return known
