"""Another metric than accuracy: a sound model by it, and one that it was not judged by."""

from collections.abc import Callable

from plumbline.tasks.text_classification.faults.doubt import NOTHING_ASKED, PROMISE
from plumbline.tasks.text_classification.faults.models import change_config
from plumbline_selftest.protocol import Fault, FaultSite

DIFFERENCE = "max_detectable_difference: 0.10"


def plant_metric(metric: str) -> Callable[[FaultSite], None]:
    """Return what makes params choose another metric."""

    def plant(site: FaultSite) -> None:
        site.edit_params(DIFFERENCE, f"metric: {metric}\n  {DIFFERENCE}")

    return plant


def plant_precision(site: FaultSite) -> None:
    """Make params choose the recall at a precision, and train for it."""
    plant_metric("recall_at_precision")(site)
    site.edit_params(NOTHING_ASKED, PROMISE)
    site.retrain()


def plant_lower_precision(site: FaultSite) -> None:
    """Answer every row, which brings more recall than the precision allows."""
    plant_precision(site)
    change_config(site, threshold=0.0)


FAULTS = (
    Fault(
        "another metric chosen after the evaluation",
        "evaluation.metric",
        "error",
        plant_metric("nll"),
        before="register",
    ),
    Fault("recall by answers without the precision", "selective", "refuse", plant_lower_precision),
    Fault(
        "a sound model by another metric",
        "none",
        "promote",
        plant_metric("balanced_accuracy"),
    ),
    Fault(
        "a sound model by a metric of the whole split",
        "none",
        "promote",
        plant_metric("average_precision"),
    ),
    Fault("a sound model by recall at a precision", "none", "promote", plant_precision),
)
