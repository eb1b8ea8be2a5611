"""Every fault of a predictor of sequences, with the gate that must refuse it."""

from collections.abc import Sequence

from plumbline_selftest.protocol import Fault
from tasks.sequence_bayes.faults import data, models

FAULTS = (
    Fault("train sequences copied into test", "leakage", "refuse", data.plant_copies_in_test),
    Fault(
        "symbols of test exchanged, the manifest kept",
        "in data/manifest.parquet",
        "error",
        data.plant_exchanged_symbols,
    ),
    Fault("a few test sequences known by heart", "bounds", "refuse", models.plant_known_sequences),
    Fault(
        "a model of shuffled symbols that knows the sequences",
        "control",
        "refuse",
        models.plant_control_with_known_sequences,
    ),
    Fault("all symbols equally probable", "baselines", "refuse", models.plant_uniform),
    Fault(
        "probabilities that add up to more than 1",
        "not a probability distribution",
        "error",
        models.plant_improper,
    ),
    Fault("a stratum that is answered by chance", "slices", "refuse", models.plant_chance_on_high),
    Fault("an answer that follows the last symbol", "behaviour", "refuse", models.plant_repetition),
    Fault(
        "uncertainty that has nothing to do with doubt",
        "behaviour",
        "refuse",
        models.plant_empty_uncertainty,
    ),
)


def list_faults() -> Sequence[Fault]:
    """Return the faults that only a predictor of sequences can have."""
    return FAULTS
