"""Every fault of a text classifier, with the gate that must refuse it."""

from collections.abc import Sequence

from plumbline.tasks.text_classification.faults import (
    answers,
    data,
    doubt,
    knowing_data,
    label_sets,
    long_texts,
    many_copies,
    metrics,
    models,
    seeds,
    sound_data,
    sound_models,
    steps,
)
from plumbline_selftest.protocol import Fault

FAULTS = (
    Fault(
        "test labels replaced by the model's answers", "accepted", "refuse", data.plant_own_answers
    ),
    Fault(
        "labels of train exchanged, the manifest kept",
        "in data/manifest.parquet",
        "error",
        data.plant_exchanged_labels,
        before="validate",
    ),
    Fault(
        "texts of test exchanged, the manifest kept",
        "in data/manifest.parquet",
        "error",
        data.plant_exchanged_texts,
    ),
    Fault("a test split of one class", "coverage", "refuse", data.plant_one_class),
    Fault("test rows copied into train", "leakage", "refuse", data.plant_copies_in_train(str)),
    Fault(
        "test rows nearly copied into train",
        "leakage",
        "refuse",
        data.plant_copies_in_train(lambda text: f"{text.upper()} !!"),
    ),
    Fault(
        "the majority class, dressed up as a model", "baselines", "refuse", models.plant_majority
    ),
    Fault("a score above the ceiling of the data", "bounds", "refuse", models.plant_known_answers),
    Fault(
        "a model of shuffled labels that knows the answers",
        "control",
        "refuse",
        models.plant_control_with_known_answers,
    ),
    Fault("one group broken", "slices", "refuse", models.plant_wrong_group),
    Fault("a model that is always sure", "calibration", "refuse", models.plant_config(sure=True)),
    Fault(
        "a model that capitals throw off", "behaviour", "refuse", models.plant_config(shaken=True)
    ),
    Fault(
        "an int8 form with its table off by a row", "parity", "refuse", models.plant_shifted_int8
    ),
    Fault(
        "a package whose answers differ from those measured",
        "replay",
        "refuse",
        models.plant_config(two_faced=True),
    ),
    Fault(
        "a package that answers anything", "replay", "refuse", models.plant_config(anything=True)
    ),
    Fault("a fifth of the test rows left out", "test_split", "refuse", data.plant_dropped_rows),
    Fault("test texts in letters that look alike", "test_split", "refuse", data.plant_look_alikes),
    Fault("test rows in other groups", "test_split", "refuse", data.plant_exchanged_groups),
    Fault("a test split too small to tell", "power", "refuse", data.plant_few_rows),
)


def list_faults() -> Sequence[Fault]:
    """Return the faults that only a text classifier can have."""
    return (
        *FAULTS,
        *answers.FAULTS,
        *doubt.FAULTS,
        *knowing_data.FAULTS,
        *label_sets.FAULTS,
        *long_texts.FAULTS,
        *many_copies.FAULTS,
        *metrics.FAULTS,
        *steps.FAULTS,
        *seeds.FAULTS,
        *sound_data.FAULTS,
        *sound_models.FAULTS,
    )
