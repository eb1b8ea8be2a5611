"""Every fault of a designer of filters, with the gate that must refuse it."""

from collections.abc import Sequence

from plumbline_selftest.protocol import Fault
from tasks.filter_design.faults import data, models

FAULTS = (
    Fault("train specifications copied into test", "leakage", "refuse", data.plant_copies_in_test),
    Fault(
        "train specifications at ten times the impedance in test",
        "leakage",
        "refuse",
        data.plant_decades_in_test,
    ),
    Fault(
        "easier masks in test, the manifest kept",
        "in data/manifest.parquet",
        "error",
        data.plant_easier_masks,
    ),
    Fault(
        "a low-pass that is simulated as a high-pass",
        "answers",
        "refuse",
        models.plant_mirrored_simulator,
        also=("baselines", "floor"),
    ),
    Fault(
        "every mask said to be met by 146 dB",
        "answers",
        "refuse",
        models.plant_claims,
    ),
    Fault(
        "an impossible mask said to be met",
        "answers",
        "refuse",
        models.plant_impossible_claims,
    ),
    Fault(
        "standard values drawn at random",
        "baselines",
        "refuse",
        models.plant_random_values,
        also=("answers", "floor"),
    ),
    Fault("values that are in no series", "answers", "refuse", models.plant_values_off_series),
    Fault("the netlist of another filter", "answers", "refuse", models.plant_other_netlist),
    Fault("64 calls where all others have two", "budget", "refuse", models.plant_more_calls),
    Fault(
        "Bayesian optimisation called an improvement",
        "baselines",
        "refuse",
        models.plant_bayesian_optimisation,
    ),
)


def list_faults() -> Sequence[Fault]:
    """Return the faults that only a designer of filters can have."""
    return FAULTS
