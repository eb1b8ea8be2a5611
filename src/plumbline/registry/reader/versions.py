"""Open a registered version: the one way for every command, without MLflow.

| command                       | signatures | a champion needs a journal       |
|-------------------------------|------------|----------------------------------|
| serve, score, drift           | yes        | if one is known                  |
| predict                       | yes        | yes                              |
| evaluate, promote, rollback   | yes        | (opens a version by its number)  |
| reproduce                     | yes        | if one is known                  |
| sign, doctor                  | no         | (opens a version by its number)  |

Each command verifies the bundle's digest, the digest of every file in it and of the golden rows;
that the evidence is what was registered, and about this model, bundle and golden rows; and each
compares the alias `champion` with the journal. Signatures, of the bundle and of the evidence, are
asked for where PLUMBLINE_PUBLIC_KEY is set. `serve`, `score` and `drift` use a copy that stays
(verified_cache); all others read what the registry has at that moment. `doctor` reports a missing
signature by `require_signature`.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from plumbline.bundle import signatures
from plumbline.contract.task import Predictor
from plumbline.registry.journal_head import HEAD_TAG
from plumbline.registry.reader import contents, journal_check
from plumbline.registry.reader.addresses import BUNDLE_TAG, parse_address
from plumbline.registry.reader.loading import load_predictor
from plumbline.registry.reader.run_files import read_evidence
from plumbline.registry.reader.stores import RegisteredVersion, connect_store

Command = Literal["predict", "evaluate", "promote", "rollback", "reproduce", "sign", "doctor"]


UNSIGNED = ("sign", "doctor")  # open versions that nobody signed


@dataclass(frozen=True)
class OpenVersion:
    """A registered version whose files are here, every byte of them as it was registered."""

    registered: RegisteredVersion
    task: str
    folder: Path  # the bundle
    golden: Path  # golden.json
    evidence: dict[str, Any]  # empty for doctor, which reads it by itself

    @property
    def bundle(self) -> str:
        """The digest of the bundle."""
        return self.registered.tags[BUNDLE_TAG]

    def load_predictor(self) -> Predictor:
        """Build the predictor: this runs the version's own code."""
        return load_predictor(self.folder, self.bundle, self.registered.label)

    def require_signature(self) -> None:
        """BundleError where PLUMBLINE_PUBLIC_KEY is set and its owner did not sign these files.

        For a command that opens unsigned versions too, and reports them.
        """
        key = contents.find_public_key()
        if key is not None:
            _verify_signature(self.registered, self.folder.parent, key)


@contextmanager
def open_version(address: str, command: Command) -> Iterator[OpenVersion]:
    """Open the version at `address` for `command`, once all checks of the table above have passed.

    Its files are a private copy, which is gone after the block. Raises RegistryError where there is
    no such version, BundleError where it is not what was registered or not signed, JournalError
    where no decision made it champion.
    """
    key = None if command in UNSIGNED else contents.find_public_key()
    version = find_version(address, require_journal=command == "predict")
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        folder = Path(private) / "version"
        task = contents.fetch_contents(connect_store(), version, folder)
        if key is not None:
            _verify_signature(version, folder, key)
        evidence = {} if command == "doctor" else read_evidence(version, key)
        files, golden = folder / contents.FILES, folder / contents.GOLDEN
        yield OpenVersion(version, task, files, golden, evidence)


def find_version(address: str, *, require_journal: bool = False) -> RegisteredVersion:
    """Find what the registry knows of a version, a champion only if the journal made it one.

    Opens no file of it. Raises RegistryError, BundleError or JournalError as `open_version` does.
    """
    wanted = parse_address(address)
    store = connect_store()
    return journal_check.verify_alias_against_journal(
        wanted,
        lambda: store.find_version(wanted),
        read_head=lambda: store.read_model_tag(wanted, HEAD_TAG),
        require_journal=require_journal,
    )


def require_signature(version: RegisteredVersion) -> None:
    """BundleError where PLUMBLINE_PUBLIC_KEY is set and its owner did not sign the version's files.

    For commands that use what is known of a version, and not its files.
    """
    key = contents.find_public_key()
    if key is None:
        return
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        folder = Path(private) / "version"
        contents.fetch_contents(connect_store(), version, folder)
        _verify_signature(version, folder, key)


def _verify_signature(version: RegisteredVersion, folder: Path, key: Path) -> None:
    target = folder / signatures.NAME
    contents.verify_signature(connect_store(), version, folder / contents.FILES, key, target)
