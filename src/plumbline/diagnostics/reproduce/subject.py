"""The registered version that is made again, and its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.registry.reader import addresses, open_version
from plumbline.registry.reader.run_files import fetch_recorded_file
from plumbline.registry.reader.stores import RegisteredVersion


@dataclass(frozen=True)
class ReproductionSubject:
    """A registered version, with its evidence, and what its run kept."""

    registered: RegisteredVersion
    commit: str
    dirty: bool
    evidence: Mapping[str, Any]
    params: Path  # params.yaml as it was registered

    def __str__(self) -> str:
        return self.registered.label


def load_subject(model: str, version: str | None, folder: Path) -> ReproductionSubject:
    """Load a version (None: the champion) from the registry; its params.yaml goes to `folder`.

    Commit and params are those that its evidence names, whatever its tags say. Raises
    PlumblineError where no commit made it, or a file is not what was registered.
    """
    address = f"models:/{model}/{version}"
    if not version:
        address = f"models:/{model}@{addresses.CHAMPION}"
    with open_version(address) as opened:
        registered, evidence = opened.registered, opened.evidence
    lineage = evidence.get("lineage") or {}
    commit = lineage.get("git_commit")
    if not commit:
        raise PlumblineError(f"{registered.label}: its evidence names no commit: none made it")
    params = fetch_recorded_file(registered, evidence, layout.PARAMS, folder)
    is_dirty = lineage.get("git_dirty") != "false"
    return ReproductionSubject(registered, commit, is_dirty, evidence, params)
