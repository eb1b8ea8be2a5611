"""Every fault of a policy, with the gate that must refuse it."""

from collections.abc import Sequence

from plumbline_selftest.protocol import Fault
from tasks.answer_consensus.faults import claims, data, models

FAULTS = (
    Fault("questions of train copied into test", "leakage", "refuse", data.plant_copies_in_test),
    Fault("questions of train's templates in test", "leakage", "refuse", data.plant_shared_groups),
    Fault("an answer that no agent gave", "bounds", "refuse", models.plant_invented_answer),
    Fault("answers that are known by heart", "bounds", "refuse", models.plant_known_answers),
    Fault("a policy that asks twice", "twice", "error", models.plant_repetition),
    Fault("a policy that asks beyond the cap", "which costs", "error", models.plant_overdraft),
    Fault("a policy that asks everyone", "budget", "refuse", models.plant_extravagance),
    Fault("a policy that is always sure", "calibration", "refuse", models.plant_certainty),
    Fault("a policy that reads the text", "behaviour", "refuse", models.plant_reading),
    Fault("a plurality of the best agents", "baselines", "refuse", models.plant_plurality),
    Fault(
        "87.4 against 85.9 on 198 questions",
        "baselines",
        "refuse",
        claims.plant_few_more_right,
        also=("champion", "power"),
    ),
)


def list_faults() -> Sequence[Fault]:
    """Return the faults that only a policy can have."""
    return FAULTS
