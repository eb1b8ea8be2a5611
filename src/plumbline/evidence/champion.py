"""The champion in an evaluation: its predictor, and what it was made from."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import BundleError, ParamsError, PlumblineError, RegistryError
from plumbline.contract.task import Predictor, Task
from plumbline.contract.yaml_file import load_yaml
from plumbline.registry import champion_pin, promotion
from plumbline.registry.reader import open_version
from plumbline.registry.reader.stores import RegisteredVersion
from plumbline.registry.reader.versions import fetch_run_file

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ChampionModel:
    """The registered version that challengers are compared with."""

    model: str
    version: str
    bundle: str  # digest
    predictor: Predictor
    tags: Mapping[str, str]  # of the version: commit, digests
    params: Mapping[str, Any] | None  # of its making; None where the registry does not have them
    manifest: "pd.DataFrame | None"  # of its making


def find_champion(name: str, task: Task[Any]) -> ChampionModel | None:
    """Load the champion that champion.json names, else the one that the registry has now.

    None where champion.json says so, or where no decision ever made one. Raises RegistryError,
    BundleError or JournalError where the champion cannot be loaded for any other reason.
    """
    pins = champion_pin.read_pins()
    if name in pins:
        pin = pins[name]
    else:
        entry = promotion.find_champion(name)
        pin = champion_pin.ChampionPin(entry.version, entry.bundle) if entry else None
    if pin is None:
        return None
    with open_version(f"models:/{name}/{pin.version}", "evaluate") as opened:
        if opened.bundle != pin.bundle:
            raise BundleError(
                f"{name} version {pin.version}: bundle digest mismatch: the champion was "
                f"{pin.bundle[:12]}, found {opened.bundle[:12]}"
            )
        _refuse_other_task(opened.registered, task)
        predictor = opened.load_predictor()
    version = opened.registered
    params, manifest = _fetch_origin(version)
    tags = dict(version.tags)
    return ChampionModel(name, pin.version, pin.bundle, predictor, tags, params, manifest)


def _refuse_other_task(version: RegisteredVersion, task: Task[Any]) -> None:
    name = version.tags.get("plumbline.task", task.name)
    if name != task.name:
        raise PlumblineError(f"{version.label} is of the task {name}, not {task.name}")


def _fetch_origin(
    version: RegisteredVersion,
) -> "tuple[Mapping[str, Any] | None, pd.DataFrame | None]":
    """Fetch params.yaml and the manifest of a version, to list what changed since.

    The verdict does not need them: both are None where one of them cannot be fetched.
    """
    import pandas as pd

    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        folder = Path(private)
        try:
            params = load_yaml(fetch_run_file(version, "params.yaml", folder))
            manifest = pd.read_parquet(fetch_run_file(version, "manifest.parquet", folder))
        except (RegistryError, ParamsError, OSError, ValueError):
            return None, None
    return params, manifest
