"""Another metric than accuracy: a sound model by it, and one that it was not judged by."""

from collections.abc import Callable

from plumbline.contract.faults import Fault, FaultSite

DIFFERENCE = "max_detectable_difference: 0.10"


def plant_metric(metric: str) -> Callable[[FaultSite], None]:
    """Return what makes params choose another metric."""

    def plant(site: FaultSite) -> None:
        site.edit_params(DIFFERENCE, f"metric: {metric}\n  {DIFFERENCE}")

    return plant


FAULTS = (
    Fault(
        "another metric chosen after the evaluation",
        "evaluation.metric",
        "error",
        plant_metric("nll"),
        before="register",
    ),
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
)
