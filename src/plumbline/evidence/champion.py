"""The champion in an evaluation: its predictor, and what it was made from."""

import contextlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import BundleError, PlumblineError, RegistryError
from plumbline.contract.task import Predictor, Task
from plumbline.contract.yaml_file import load_yaml
from plumbline.registry.journal import Entry
from plumbline.registry.pinned_champion import find_compared_champion
from plumbline.registry.reader import journal_check, open_version
from plumbline.registry.reader.stores import RegisteredVersion
from plumbline.registry.reader.versions import fetch_run_file, read_evidence

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ChampionModel:
    """The registered version that challengers are compared with."""

    model: str
    version: str
    bundle: str  # digest
    predictor: Predictor
    lineage: Mapping[str, str]  # of its making, as its evidence says: the commit
    params: Mapping[str, Any] | None  # of its making; None where the registry does not have them
    manifest: "pd.DataFrame | None"  # of its making
    lag: float | None  # by which it is worse than the best champion so far; None: not on record


def find_champion(name: str, task: Task[Any]) -> ChampionModel | None:
    """Load the champion that champion.json names, else the one that the registry has now.

    It is what the journal's entry made champion, or nothing is loaded. None where champion.json
    says so, or where no decision ever made one. Raises RegistryError, BundleError or JournalError
    where the champion cannot be loaded for any other reason.
    """
    entry = find_compared_champion(name)
    if entry is None:
        return None
    with open_version(f"models:/{name}/{entry.version}", "evaluate") as opened:
        if opened.bundle != entry.bundle:
            raise BundleError(
                f"{name} version {entry.version}: bundle digest mismatch: the champion was "
                f"{entry.bundle[:12]}, found {opened.bundle[:12]}"
            )
        journal_check.verify_digests(opened.registered, entry)
        _refuse_other_task(opened.registered, task)
        predictor = opened.load_predictor()
    return _describe_champion(opened.registered, entry, predictor)


def _describe_champion(
    version: RegisteredVersion, entry: Entry, predictor: Predictor
) -> ChampionModel:
    """Add what the champion was made from, as its evidence says and proves.

    All of it is None or empty where the registry does not have it any more.
    """
    lineage: Mapping[str, str] = {}
    params, manifest = None, None
    lag = None
    with contextlib.suppress(RegistryError):
        evidence = read_evidence(version)
        lineage = evidence.get("lineage") or {}
        lag = float(evidence.get("lag") or 0.0)  # 0 too where an older version wrote the evidence
        params, manifest = _fetch_origin(version, evidence)
    return ChampionModel(
        version.name, entry.version, entry.bundle, predictor, lineage, params, manifest, lag
    )


def _refuse_other_task(version: RegisteredVersion, task: Task[Any]) -> None:
    name = version.tags.get("plumbline.task", task.name)
    if name != task.name:
        raise PlumblineError(f"{version.label} is of the task {name}, not {task.name}")


def _fetch_origin(
    version: RegisteredVersion, evidence: Mapping[str, Any]
) -> "tuple[Mapping[str, Any], pd.DataFrame]":
    """Fetch params.yaml and the manifest of a version; RegistryError where one is not there.

    BundleError where one of them is not what the version's evidence is about.
    """
    import pandas as pd

    digests = evidence.get("digests") or {}
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        paths = []
        for path in (layout.PARAMS, layout.MANIFEST):
            fetched = fetch_run_file(version, path.name, Path(private))
            if layout.digest(fetched) != digests.get(path.stem):
                raise BundleError(
                    f"{version.label}: {path.name} beside it is not the one that its evidence is "
                    "about; restore it from a backup"
                )
            paths.append(fetched)
        return load_yaml(paths[0]), pd.read_parquet(paths[1])
