"""The champion in an evaluation: its predictor, and what it was made from."""

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError, RegistryError
from plumbline.contract.task import Predictor, Task
from plumbline.contract.yaml_file import load_yaml
from plumbline.evidence.changes import compare_code, compare_params
from plumbline.evidence.document import FORMAT
from plumbline.process.lineage import collect_lineage
from plumbline.registry import promotion
from plumbline.registry.reader import journal_check, open_version
from plumbline.registry.reader.run_files import fetch_recorded_file
from plumbline.registry.reader.stores import RegisteredVersion
from plumbline.sources.shown_params import hide_secrets_in_values
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.manifests import compare_manifests


@dataclass(frozen=True)
class ChampionModel:
    """The registered version that challengers are compared with."""

    model: str
    version: str
    bundle: str  # digest
    predictor: Predictor
    # By which it is worse than the best champion so far; None where another metric judged it.
    lag: float | None
    # Of params, data and code since it was made; None where the registry does not have those.
    changes: Mapping[str, Any] | None

    @property
    def renames(self) -> Mapping[str, str]:
        """The new names of classes that were renamed since it was made, by their old ones."""
        renames: Mapping[str, str] = self.changes["data"]["renames"] if self.changes else {}
        return renames


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
    with open_version(f"models:/{name}/{entry.version}") as opened:
        journal_check.verify_digests(opened.registered, entry)
        own = opened.registered.tags.get("plumbline.task", task.name)
        if own != task.name:
            raise PlumblineError(f"{opened.registered.label} is of the task {own}, not {task.name}")
        predictor = opened.load_predictor()
        evidence = opened.evidence
    require_format(opened.registered.label, evidence)
    lag = evidence["lag"] if _has_same_metric(evidence, task) else None
    changed = None
    with contextlib.suppress(RegistryError):
        changed = _list_changes(opened.registered, evidence, slices)
    return ChampionModel(name, entry.version, entry.bundle, predictor, lag, changed)


def require_format(label: str, evidence: Mapping[str, Any]) -> None:
    """Require that the evidence of a champion has the format of now; else PlumblineError."""
    if evidence.get("format") != FORMAT:
        raise PlumblineError(
            f"{label}: its evidence has format {evidence.get('format')!r}, this version reads "
            f"{FORMAT}; name another registry.model in {layout.PARAMS}: `plumbline run` "
            "evaluates again, and makes a first champion there"
        )


def _has_same_metric(evidence: Mapping[str, Any], task: Task[Any]) -> bool:
    """Whether losses that add up in `evidence` are in the unit of the metric that is chosen now."""
    limits = evidence["thresholds"]
    if limits.get("metric") != task.chosen.get("metric"):
        return False
    return all(limits.get(key) == value for key, value in task.chosen.items())


def _list_changes(
    version: RegisteredVersion, evidence: Mapping[str, Any], slices: Sequence[str]
) -> dict[str, Any]:
    """Compare params, data and code of now with those that made a version.

    RegistryError where its params.yaml or manifest is not there.
    """
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        params, manifest = (
            fetch_recorded_file(version, evidence, path, Path(private))
            for path in (layout.PARAMS, layout.MANIFEST)
        )
        remedy = "promote a version whose manifest is whole"
        now = Manifest(layout.MANIFEST)
        old, new = load_yaml(params), load_yaml(layout.PARAMS)
        return {
            "params": compare_params(hide_secrets_in_values(old), hide_secrets_in_values(new)),
            "data": compare_manifests(Manifest(manifest, remedy), now, slices),
            "code": compare_code(evidence["lineage"], collect_lineage()),
        }
