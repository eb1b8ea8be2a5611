"""The registered version that is made again, and its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError, RegistryError
from plumbline.registry.reader import addresses, find_version
from plumbline.registry.reader.versions import fetch_run_file, read_evidence, require_signature


@dataclass(frozen=True)
class ReproductionSubject:
    """A registered version, from its tags and its run's artifacts."""

    model: str
    version: str
    commit: str
    dirty: bool
    bundle: str  # digest
    evidence: Mapping[str, Any]
    params: Path | None  # params.yaml as it was registered; None where the run has none

    def __str__(self) -> str:
        return f"{self.model} version {self.version}"


def load_subject(model: str, version: str | None, folder: Path) -> ReproductionSubject:
    """Load a version (None: the champion) from the registry; its params.yaml goes to `folder`.

    Raises PlumblineError where no commit made it, or its evidence is not what was registered.
    """
    address = f"models:/{model}/{version}"
    if not version:
        address = f"models:/{model}@{addresses.CHAMPION}"
    registered = find_version(address)
    require_signature(registered)
    commit = registered.tags.get("plumbline.git_commit")
    if not commit:
        raise PlumblineError(
            f"{registered.label} has no tag plumbline.git_commit: no commit made it"
        )
    evidence = read_evidence(registered)
    try:
        params = fetch_run_file(registered, layout.PARAMS.name, folder)
    except RegistryError:
        params = None
    return ReproductionSubject(
        model=model,
        version=registered.number,
        commit=commit,
        dirty=registered.tags.get("plumbline.git_dirty") != "false",
        bundle=registered.tags[addresses.BUNDLE_TAG],
        evidence=evidence,
        params=params,
    )
