"""A registry that was deleted or replaced, while the journal still names its versions."""

from plumbline.registry import model_versions
from plumbline_selftest.protocol import Fault, FaultSite


def _delete_model(site: FaultSite) -> None:
    model_versions.connect_registry().delete_registered_model(site.params.registry.model)


FAULTS = (
    Fault(
        "a registry that lost the model",
        "knows no model of that name",
        "error",
        _delete_model,
        before="register",
    ),
)
