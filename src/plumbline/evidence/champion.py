"""The champion in an evaluation: its predictor, and what it was made from."""

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import BundleError, PlumblineError, RegistryError
from plumbline.contract.manifest import Manifest
from plumbline.contract.task import Predictor, Task
from plumbline.contract.yaml_file import load_yaml
from plumbline.evidence.document import FORMAT
from plumbline.registry import promotion
from plumbline.registry.reader import journal_check, open_version
from plumbline.registry.reader.run_files import fetch_recorded_file, read_evidence
from plumbline.registry.reader.stores import RegisteredVersion
from plumbline.tables.manifests import compare_manifests


@dataclass(frozen=True)
class ChampionOrigin:
    """What a champion was made from, as its evidence says and proves.

    Each is None or empty where the registry does not have it any more.
    """

    lineage: Mapping[str, str]  # the commit
    # By which it is worse than the best champion so far; None too where another metric judged it.
    lag: float | None
    params: Mapping[str, Any] | None
    data_changes: Mapping[str, Any] | None  # since then, as `compare_manifests` counts them


@dataclass(frozen=True)
class ChampionModel:
    """The registered version that challengers are compared with."""

    model: str
    version: str
    bundle: str  # digest
    predictor: Predictor
    origin: ChampionOrigin


def load_champion(name: str, task: Task[Any], slices: Sequence[str]) -> ChampionModel | None:
    """Load the champion that champion.json names, else the one that the registry has now.

    It is what the journal's entry made champion, or nothing is loaded. None where champion.json
    says so, or where no decision ever made one. Raises RegistryError, BundleError or JournalError
    where the champion cannot be loaded for any other reason. `slices` are the columns by which its
    manifest is compared.
    """
    entry = promotion.find_compared_champion(name)
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
    origin = _read_origin(opened.registered, task, slices)
    return ChampionModel(name, entry.version, entry.bundle, predictor, origin)


def require_format(label: str, evidence: Mapping[str, Any]) -> None:
    """Require that the evidence of a champion has the format of now; else PlumblineError."""
    if evidence.get("format") != FORMAT:
        raise PlumblineError(
            f"{label}: its evidence has format {evidence.get('format')!r}, this version reads "
            f"{FORMAT}; name another registry.model in {layout.PARAMS}: `plumbline run` "
            "evaluates again, and makes a first champion there"
        )


def _read_origin(
    version: RegisteredVersion, task: Task[Any], slices: Sequence[str]
) -> ChampionOrigin:
    lineage: Mapping[str, str] = {}
    params, data_changes, lag = None, None, None
    with contextlib.suppress(RegistryError):
        evidence = read_evidence(version)
        require_format(version.label, evidence)
        lineage = evidence.get("lineage") or {}
        if _has_same_metric(evidence, task):
            lag = evidence["lag"]
        params, data_changes = _fetch_making(version, evidence, slices)
    return ChampionOrigin(lineage, lag, params, data_changes)


def _has_same_metric(evidence: Mapping[str, Any], task: Task[Any]) -> bool:
    """Whether losses that add up in `evidence` are in the unit of the metric that is chosen now."""
    limits = evidence.get("thresholds") or {}
    if limits.get("metric") != task.chosen.get("metric"):
        return False
    return all(limits.get(key) == value for key, value in task.chosen.items())


def _refuse_other_task(version: RegisteredVersion, task: Task[Any]) -> None:
    name = version.tags.get("plumbline.task", task.name)
    if name != task.name:
        raise PlumblineError(f"{version.label} is of the task {name}, not {task.name}")


def _fetch_making(
    version: RegisteredVersion, evidence: Mapping[str, Any], slices: Sequence[str]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Fetch params.yaml and the manifest of a version, and compare the manifest with that of now.

    RegistryError where one is not there.
    """
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        params, manifest = (
            fetch_recorded_file(version, evidence, path, Path(private))
            for path in (layout.PARAMS, layout.MANIFEST)
        )
        remedy = "promote a version whose manifest is whole"
        now = Manifest(layout.MANIFEST)
        return load_yaml(params), compare_manifests(Manifest(manifest, remedy), now, slices)
