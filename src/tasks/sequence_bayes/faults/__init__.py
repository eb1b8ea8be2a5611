"""What `plumbline selftest` plants in a predictor of sequences, and where it does so."""

from pathlib import Path

import numpy as np

from plumbline.contract import layout
from plumbline_selftest.protocol import Fault, FaultSite
from tasks.sequence_bayes.data.storage import read_sequences, read_strata

HERE = Path(__file__).parent
PARAMS = HERE / "params.yaml"
# The first champion adds too much to each count; it learns nothing, so that it has no control.
WEAKER = {
    "alpha: one": "alpha: 3.0",
    "control: {candidates: [rule]": "control: {candidates: []",
}
KNOWN_SHARE = 0.1  # of test, known by heart
APART = "{columns: [label], rate: error, max_gap: 0.3, min_rows: 50}"  # honest strata: 0.1
SURE, CHANCE = 0.98, 0.5  # the probability of a symbol that is known by heart, and of one of two


def _plant_known_sequences(site: FaultSite) -> None:
    """Know some of the test sequences by heart."""
    sequences = read_sequences(layout.EXAMPLES, "test")
    _wrap(site, sequences[: round(KNOWN_SHARE * len(sequences))], SURE)


def _plant_chance_on_high(site: FaultSite) -> None:
    """Answer the sequences of the last stratum by chance; how far apart strata are is asked too."""
    site.edit_params("  max_leakage:", f"  groups: {APART}\n  max_leakage:")
    strata = read_strata(layout.EXAMPLES, "test")
    _wrap(site, read_sequences(layout.EXAMPLES, "test")[strata == strata.max()], CHANCE)


def _wrap(site: FaultSite, sequences: np.ndarray, chance: float) -> None:
    """Plant a predictor that gives each symbol of these sequences this probability."""
    config = {"sequences": sequences.tolist(), "chance": chance}
    site.wrap_predictor(HERE / "faulty_predictor.py", config)


FAULTS = (
    Fault("a few test sequences known by heart", "bounds", "refuse", _plant_known_sequences),
    Fault("a stratum that is answered by chance", "slices", "refuse", _plant_chance_on_high),
    Fault("a stratum that is wrong far more often", "groups", "refuse", _plant_chance_on_high),
)
