"""Open a registered version: the one way for every command, without MLflow.

| command                | signature | evidence        | a champion needs a journal       |
|------------------------|-----------|-----------------|----------------------------------|
| serve, score           | yes       | no              | if one is known                  |
| drift                  | yes       | yes             | if one is known                  |
| predict                | yes       | of a champion   | yes                              |
| evaluate               | yes       | no              | (opens a version by its number)  |
| promote                | yes       | yes             | (opens a version by its number)  |
| rollback               | yes       | no              | (opens a version by its number)  |
| reproduce              | yes       | yes             | if one is known                  |
| sign, fsck             | no        | no              | (opens a version by its number)  |

Each command verifies the bundle's digest, the digest of every file in it and of the golden rows,
and each compares the alias `champion` with the journal. A signature is asked for where
PLUMBLINE_PUBLIC_KEY is set. `serve`, `score` and `drift` use a copy that stays (verified_cache);
all others read what the registry has at that moment. `reproduce` and `drift` read the evidence by
`read_evidence`; `fsck` reports a missing signature by `require_signature`.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from plumbline.bundle import signatures, strict
from plumbline.bundle.files import MAX_BYTES
from plumbline.contract import layout
from plumbline.contract.errors import BundleError, RegistryError
from plumbline.contract.task import Predictor
from plumbline.registry.journal_head import HEAD_TAG
from plumbline.registry.reader import artifacts, contents, journal_check
from plumbline.registry.reader.addresses import BUNDLE_TAG, CHAMPION, EVIDENCE_TAG, parse_address
from plumbline.registry.reader.loading import load_predictor
from plumbline.registry.reader.stores import RegisteredVersion, connect_store

Command = Literal["predict", "evaluate", "promote", "rollback", "reproduce", "sign", "fsck"]
MAX_EVIDENCE = 256 << 20  # bytes


@dataclass(frozen=True)
class Needs:
    """What is checked of a version besides its files."""

    signature: bool = True
    evidence: Literal["no", "of a champion", "yes"] = "no"
    journal: bool = False  # a champion is refused where no journal can name it


NEEDS: dict[Command, Needs] = {
    "predict": Needs(evidence="of a champion", journal=True),
    "evaluate": Needs(),
    "promote": Needs(evidence="yes"),
    "rollback": Needs(),
    "reproduce": Needs(),
    "sign": Needs(signature=False),
    "fsck": Needs(signature=False),
}


@dataclass(frozen=True)
class OpenVersion:
    """A registered version whose files are here, every byte of them as it was registered."""

    registered: RegisteredVersion
    task: str
    folder: Path  # the bundle
    golden: Path  # golden.json
    evidence: dict[str, Any]  # empty where it was not asked for

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
        _verify_signature_if_asked(self.registered, self.folder.parent)


@contextmanager
def open_version(address: str, command: Command) -> Iterator[OpenVersion]:
    """Open the version at `address` for `command`, once all checks of the table above have passed.

    Its files are a private copy, which is gone after the block. Raises RegistryError where there is
    no such version, BundleError where it is not what was registered or not signed, JournalError
    where no decision made it champion.
    """
    needs = NEEDS[command]
    version = find_version(address, require_journal=needs.journal)
    is_champion = parse_address(address).alias == CHAMPION
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        folder = Path(private) / "version"
        task = contents.fetch_contents(connect_store(), version, folder)
        if needs.signature:
            _verify_signature_if_asked(version, folder)
        evidence: dict[str, Any] = {}
        if needs.evidence == "yes" or (needs.evidence == "of a champion" and is_champion):
            evidence = read_evidence(version)
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
    if contents.find_public_key() is None:
        return
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        folder = Path(private) / "version"
        contents.fetch_contents(connect_store(), version, folder)
        _verify_signature_if_asked(version, folder)


def read_evidence(version: RegisteredVersion) -> dict[str, Any]:
    """Read evidence.json of a version's run; BundleError if it is not what was registered."""
    name = layout.EVIDENCE.name
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        path = Path(private) / name
        try:
            _fetch_run_file(version, name, path, MAX_EVIDENCE)
        except artifacts.MissingArtifactError:
            raise _build_evidence_error(version, "is missing") from None
        except RegistryError as error:
            raise RegistryError(
                f"{version.label}: its evidence cannot be fetched ({error})"
            ) from None
        if layout.digest(path) != version.tags.get(EVIDENCE_TAG):
            raise _build_evidence_error(version, "has another digest")
        return _parse_evidence(path.read_bytes(), version)


def _parse_evidence(raw: bytes, version: RegisteredVersion) -> dict[str, Any]:
    """BundleError for what `evaluate` did not write, also where the tag names its digest."""
    try:
        evidence = strict.parse_json(raw)
    except ValueError as error:
        raise _build_evidence_error(version, f"is damaged: {error}") from None
    match evidence:
        case {"digests": dict()}:
            parsed: dict[str, Any] = evidence
            return parsed
    raise _build_evidence_error(version, "names no digests")


def fetch_run_file(version: RegisteredVersion, name: str, folder: Path) -> Path:
    """Fetch a file that a version's run logged into `folder`; RegistryError if it cannot."""
    try:
        _fetch_run_file(version, name, folder / name, MAX_BYTES)
    except RegistryError as error:
        raise RegistryError(f"{version.label}: {error}") from None
    return folder / name


def _fetch_run_file(version: RegisteredVersion, name: str, target: Path, limit: int) -> None:
    if version.run_files is None:
        raise RegistryError(f"{name}: cannot be fetched (its run {version.run_id} does not exist)")
    artifacts.fetch_artifact(connect_store(), version.run_files, name, target, limit)


def _verify_signature_if_asked(version: RegisteredVersion, folder: Path) -> None:
    key = contents.find_public_key()
    if key is not None:
        target = folder / signatures.NAME
        contents.verify_signature(connect_store(), version, folder / contents.FILES, key, target)


def _build_evidence_error(version: RegisteredVersion, reason: str) -> BundleError:
    return BundleError(
        f"{version.label}: its evidence was changed since it was registered "
        f"({layout.EVIDENCE.name} of run {version.run_id} {reason}); "
        "restore it from a backup, do not use the version"
    )
