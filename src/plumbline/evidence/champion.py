"""The champion as an evaluation meets it: its predictor, and what it was made from."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import BundleError, ParamsError, PlumblineError, RegistryError
from plumbline.contract.params import load_yaml
from plumbline.contract.task import Predictor, Task
from plumbline.registry import champion_pin, model_versions, promotion
from plumbline.registry.package import packaging

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Champion:
    """A registered version that challengers are held against."""

    model: str
    version: str
    bundle: str
    predictor: Predictor
    tags: Mapping[str, str]  # of the version: commit, digests
    params: (
        Mapping[str, Any] | None
    )  # what it was made from; None where the registry does not have it
    manifest: "pd.DataFrame | None"


def find(name: str, task: Task) -> Champion | None:
    """The champion that champion.json names for the model; where it names none, the one that the registry has now.

    None where it says so, or where no decision ever made one. Whatever else keeps the champion from being loaded is an
    error: RegistryError, BundleError, or JournalError.
    """
    pins = champion_pin.read()
    if name in pins:
        pin = pins[name]
    else:
        entry = promotion.current(name)
        pin = champion_pin.Pointer(entry.version, entry.bundle) if entry else None
    if pin is None:
        return None
    predictor, version = packaging.load(f"models:/{name}/{pin.version}")
    bundle = version.tags[model_versions.BUNDLE_TAG]
    if bundle != pin.bundle:
        raise BundleError(
            f"{name} version {pin.version} is not the bundle {pin.bundle[:12]} that was champion"
        )
    _refuse_other_task(version, task)
    params, manifest = _made_from(version)
    return Champion(name, pin.version, bundle, predictor, dict(version.tags), params, manifest)


def _refuse_other_task(version: Any, task: Task) -> None:
    found = version.tags.get("plumbline.task", task.name)
    if found != task.name:
        raise PlumblineError(
            f"{version.name} version {version.version} is of the task {found}, not {task.name}"
        )


def _made_from(version: Any) -> "tuple[Mapping[str, Any] | None, pd.DataFrame | None]":
    """The params.yaml and the manifest that stand beside a version, to tell what changed since; not needed to judge."""
    import pandas as pd

    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        try:
            params = load_yaml(packaging.recorded(version, "params.yaml", Path(folder)))
            return params, pd.read_parquet(
                packaging.recorded(version, "manifest.parquet", Path(folder))
            )
        except (RegistryError, ParamsError, OSError, ValueError):
            return None, None
