"""Open a registered version: the one way for every command, without MLflow.

Each command verifies the bundle's digest, the digest of every file in it and of the golden rows;
that the evidence is what was registered, and about this model, bundle and golden rows; and each
compares the alias `champion` with the journal. Signatures, of the bundle and of the evidence, are
asked for where PLUMBLINE_PUBLIC_KEY is set, but by `sign` and by `doctor`, which reports them.
`serve`, `score` and `drift` use a copy that stays (verified_cache); all others read what the
registry has at that moment.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.bundle import signatures
from plumbline.contract.task import Predictor
from plumbline.registry.reader import contents, journal_check
from plumbline.registry.reader.addresses import BUNDLE_TAG, parse_address
from plumbline.registry.reader.loading import load_predictor
from plumbline.registry.reader.run_files import read_evidence
from plumbline.registry.reader.stores import RegisteredVersion, connect_store


@dataclass(frozen=True)
class OpenVersion:
    """A registered version whose files are here, every byte of them as it was registered."""

    registered: RegisteredVersion
    task: str
    folder: Path  # the bundle
    evidence: dict[str, Any]

    @property
    def bundle(self) -> str:
        """The digest of the bundle."""
        return self.registered.tags[BUNDLE_TAG]

    def load_predictor(self) -> Predictor:
        """Build the predictor: this runs the version's own code."""
        return load_predictor(self.folder, self.bundle, self.registered.label)


@contextmanager
def open_version(
    address: str, *, signed: bool = True, require_journal: bool = False
) -> Iterator[OpenVersion]:
    """Open the version at `address`, once all its files and its evidence are verified.

    Its files are a private copy, which is gone after the block. Raises RegistryError where there is
    no such version, BundleError where it is not what was registered or, if it has to be `signed`,
    not signed; JournalError where no decision made it champion, also for want of a journal if
    `require_journal`.
    """
    key = signatures.find_key("PLUMBLINE_PUBLIC_KEY") if signed else None
    version = find_version(address, require_journal=require_journal)
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        folder = Path(private) / "version"
        task = contents.fetch_contents(connect_store(), version, folder, key)
        evidence = read_evidence(version, key)
        yield OpenVersion(version, task, folder / contents.FILES, evidence)


def find_version(address: str, *, require_journal: bool = False) -> RegisteredVersion:
    """Find what the registry knows of a version, a champion only if the journal made it one.

    Opens no file of it. Raises RegistryError, BundleError or JournalError as `open_version` does.
    """
    wanted = parse_address(address)
    return journal_check.find_in_agreement(connect_store(), wanted, require_journal=require_journal)
