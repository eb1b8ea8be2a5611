"""Connect to the registry without MLflow, whose import takes longer than a server may to start."""

from plumbline.contract.errors import RegistryError
from plumbline.registry.reader.addresses import describe_registry
from plumbline.registry.reader.stores import RegistryStore
from plumbline.tracking import moved_store, store_location


def connect_store() -> RegistryStore:
    """Connect to the registry that MLFLOW_TRACKING_URI names, or to the checkout's own."""
    uri = store_location.find_uri()
    if uri.startswith(("http://", "https://")):
        from plumbline.registry.reader.rest import RestStore

        return RestStore(uri)
    if uri.startswith(("sqlite:///", "postgresql")):
        from plumbline.registry.reader.database import DatabaseStore

        moved_store.follow_move()
        return DatabaseStore(uri)
    raise RegistryError(
        f"{describe_registry()}: plumbline reads a registry at http://, https://, sqlite:/// or "
        "postgresql://; set MLFLOW_TRACKING_URI to one of these"
    )
