"""Verified copies of registered versions, kept for when the registry is unreachable."""

import logging
from dataclasses import dataclass
from pathlib import Path

from plumbline.bundle import seal_format, signatures
from plumbline.contract.errors import (
    AbsentVersionError,
    BundleError,
    JournalIntegrityError,
    RegistryError,
)
from plumbline.process.files import digest_path
from plumbline.registry.journal_head import HEAD_TAG
from plumbline.registry.reader import contents, journal_check
from plumbline.registry.reader.addresses import (
    BUNDLE_TAG,
    CHAMPION,
    EVIDENCE_TAG,
    GOLDEN_TAG,
    VersionAddress,
    describe_registry,
    parse_address,
)
from plumbline.registry.reader.cache_folder import CacheFolder, KeptVersion
from plumbline.registry.reader.run_files import read_evidence
from plumbline.registry.reader.stores import RegisteredVersion, RegistryStore, connect_store

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CachedVersion:
    """A registered version on this machine, every byte of it as it was registered."""

    name: str
    version: str
    bundle: str  # the digest that names it
    task: str
    folder: Path  # the bundle, for bundle.load
    golden: Path  # golden.json: {"inputs": columns, "params": {}, "outputs": columns}


class VerifiedModelCache:
    """Verified copies of the versions of one model, beginning with the one that `uri` leads to.

    With a `public_key` (a PEM file; PLUMBLINE_PUBLIC_KEY if left out) it gives only versions that
    were signed by that key.
    """

    def __init__(self, uri: str, cache: Path | None = None, public_key: Path | None = None) -> None:
        self._address = parse_address(uri)
        self._uri = uri
        self._cache = CacheFolder(cache)
        self._key = public_key or contents.find_public_key()
        self._store: RegistryStore | None = None
        self._verified: set[Path] = set()  # copies that this object has verified
        self._on_evidence: set[tuple[str, ...]] = set()  # versions whose evidence it has verified
        self._signed: set[Path] = set()  # those whose kept signature it has verified

    def fetch_latest(self) -> CachedVersion:
        """Fetch the version that the registry names now.

        Raises RegistryError where that is unreachable, AbsentVersionError where there is no such
        version, BundleError where it is not what was registered.
        """
        version = journal_check.verify_alias_against_journal(
            self._address,
            lambda: self._find_version(self._address),
            read_head=lambda: self._connect().read_model_tag(self._address, HEAD_TAG),
        )
        if self._address.alias != CHAMPION:
            _require_known(version)
        return self._ensure_copy(version)

    def fetch_version(self, number: str) -> CachedVersion:
        """Fetch another version of the model, to answer beside the champion.

        Raises as `fetch_latest` does, JournalError where the journal does not say that it was
        registered, RefusedError where it was refused since, or returned as a canary.
        """
        address = parse_address(f"models:/{self._address.name}/{number}")
        version = self._find_version(address)
        _require_known(version)
        journal_check.require_fit_to_answer(version)
        return self._ensure_copy(version)

    def keep(self, copy: CachedVersion) -> None:
        """Remember `copy`, which answers well, for when the registry is unreachable."""
        golden = digest_path(copy.golden)
        self._cache.remember(
            KeptVersion(self._uri, describe_registry(), copy.version, copy.bundle, golden)
        )

    def fetch_latest_or_kept(self) -> CachedVersion:
        """Fetch the latest version; while the registry is unreachable, give what was kept.

        Raises as `fetch_latest` does. Where the journal was changed, or the registry has no such
        version or alias any more, nothing is given.
        """
        try:
            return self.fetch_latest()
        except (JournalIntegrityError, AbsentVersionError):
            raise
        except RegistryError as error:
            copy = self.find_kept()
            if copy is None:
                raise
            log.warning("%s; the local copy of version %s is used instead", error, copy.version)
            return copy

    def find_kept(self) -> CachedVersion | None:
        """Find the copy that was kept last, verified again, without registry or network.

        None where no copy was kept, or it is damaged.
        """
        kept = self._cache.find_record(self._uri, describe_registry())
        if kept is None:
            return None
        folder = self._cache.locate(kept.bundle, kept.golden)
        try:
            task = contents.verify_contents(folder, kept.bundle, kept.golden)
            if self._key:
                signatures.verify_signature(
                    folder / contents.FILES, folder / signatures.NAME, self._key
                )
        except BundleError as error:
            log.warning("%s: the copy that was kept cannot be used: %s", self._uri, error)
            return None
        return _describe_copy(self._address.name, kept.version, kept.bundle, task, folder)

    def _connect(self) -> RegistryStore:
        self._store = self._store or connect_store()
        return self._store

    def _find_version(self, address: VersionAddress) -> RegisteredVersion:
        return self._connect().find_version(address)

    def _ensure_copy(self, version: RegisteredVersion) -> CachedVersion:
        """The copy of a version, fetched if it is not here or not sound."""
        digest = contents.read_digest(version, BUNDLE_TAG)
        golden = contents.read_digest(version, GOLDEN_TAG)
        folder = self._cache.locate(digest, golden)
        self._cache.prepare()
        if folder not in self._verified or not folder.exists():
            if not _is_sound(folder, digest, golden):
                self._fetch(version, folder)
            self._verified.add(folder)
        if self._key:
            self._verify_signature(version, folder, self._key)
        self._verify_evidence(version)
        self._cache.mark_used(folder)
        seal = folder / contents.FILES / seal_format.SEAL
        task = seal_format.parse_seal(seal.read_bytes(), seal)["task"]
        return _describe_copy(version.name, version.number, digest, task, folder)

    def _fetch(self, version: RegisteredVersion, folder: Path) -> None:
        """Fetch a version aside, and publish the copy once it was verified."""
        with self._cache.open_aside() as aside:
            copy = aside / "copy"
            contents.fetch_contents(self._connect(), version, copy)
            with self._cache.hold_lock():
                if not _is_sound(folder, version.tags[BUNDLE_TAG], version.tags[GOLDEN_TAG]):
                    self._cache.publish(copy, folder)

    def _verify_evidence(self, version: RegisteredVersion) -> None:
        """Check once that the evidence is about this version, and signed where a key is set."""
        tags = (BUNDLE_TAG, EVIDENCE_TAG, GOLDEN_TAG)
        known = (version.number, *(version.tags.get(tag, "") for tag in tags))
        if known in self._on_evidence:
            return
        read_evidence(version, self._key)
        self._on_evidence.add(known)

    def _verify_signature(self, version: RegisteredVersion, folder: Path, key: Path) -> None:
        """Check the copy against the version's present signature, and keep that with it.

        One that is the same as that kept was checked before; one that is gone is removed here too.
        """
        kept = folder / signatures.NAME
        with self._cache.open_aside() as aside:
            signature = aside / signatures.NAME
            files = folder / contents.FILES
            try:
                contents.fetch_signature(self._connect(), version, key, signature)
                if folder not in self._signed or not _has_same_bytes(signature, kept):
                    signatures.verify_signature(files, signature, key, Path(version.label))
            except BundleError:
                self._signed.discard(folder)
                kept.unlink(missing_ok=True)
                raise
            signature.replace(kept)
            self._signed.add(folder)


def _require_known(version: RegisteredVersion) -> None:
    """BundleError where the journal knows this version with another bundle."""
    contents.read_digest(version, BUNDLE_TAG)
    journal_check.verify_version_against_journal(version)


def _has_same_bytes(one: Path, other: Path) -> bool:
    return other.exists() and one.read_bytes() == other.read_bytes()


def _is_sound(folder: Path, digest: str, golden: str) -> bool:
    try:
        contents.verify_contents(folder, digest, golden)
    except BundleError:
        return False
    return True


def _describe_copy(name: str, version: str, digest: str, task: str, folder: Path) -> CachedVersion:
    files, golden = folder / contents.FILES, folder / contents.GOLDEN
    return CachedVersion(name, version, digest, task, files, golden)
