"""Every fault of an extractor, with the gate that must refuse it."""

from collections.abc import Sequence

from plumbline_selftest.protocol import Fault
from tasks.signal_extraction.faults import data, models

FAULTS = (
    Fault("train realisations copied into test", "leakage", "refuse", data.plant_copies_in_test),
    Fault(
        "answers of test exchanged, the manifest kept",
        "in data/manifest.parquet",
        "error",
        data.plant_exchanged_answers,
    ),
    Fault("an error below the floor of the data", "bounds", "refuse", models.plant_known_answers),
    Fault(
        "a model of shuffled answers that knows the answers",
        "control",
        "refuse",
        models.plant_control_with_known_answers,
    ),
    Fault("a model that answers 0", "baselines", "refuse", models.plant_silence),
    Fault("a model that answers NaN", "not", "error", models.plant_not_a_number),
    Fault("a frequency that is not answered", "slices", "refuse", models.plant_silent_frequency),
    Fault("a model that looks ahead", "behaviour", "refuse", models.plant_look_ahead),
)


def list_faults() -> Sequence[Fault]:
    """Return the faults that only an extractor can have."""
    return FAULTS
