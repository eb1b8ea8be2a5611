"""Verified copies of registered versions, kept for when the registry is unreachable."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from plumbline.bundle import signatures
from plumbline.contract.errors import (
    AbsentVersionError,
    BundleError,
    JournalIntegrityError,
    RegistryError,
)
from plumbline.process.files import digest_path
from plumbline.registry.reader import contents, journal_check
from plumbline.registry.reader.addresses import (
    BUNDLE_TAG,
    EVIDENCE_TAG,
    GOLDEN_TAG,
    describe_registry,
    parse_address,
)
from plumbline.registry.reader.cache_folder import CacheFolder, KeptVersion
from plumbline.registry.reader.run_files import fetch_signature, read_evidence
from plumbline.registry.reader.stores import RegisteredVersion, connect_store
from plumbline.registry.reader.versions import find_version

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
        self._name = parse_address(uri).name
        self._uri = uri
        self._cache = CacheFolder(cache)
        self._key = public_key or signatures.find_key("PLUMBLINE_PUBLIC_KEY")
        self._verified: dict[
            tuple[str, ...], CachedVersion
        ] = {}  # by this object, by their digests

    def fetch_latest(self) -> CachedVersion:
        """Fetch the version that the registry names now.

        Raises RegistryError where that is unreachable, AbsentVersionError where there is no such
        version, BundleError where it is not what was registered.
        """
        return self._ensure_copy(find_version(self._uri))

    def fetch_version(self, number: str) -> CachedVersion:
        """Fetch another version of the model, to answer beside the champion.

        Raises as `fetch_latest` does, JournalError where the journal does not say that it was
        registered, RefusedError where it was refused since, or returned as a canary.
        """
        version = find_version(f"models:/{self._name}/{number}")
        journal_check.require_fit_to_answer(version)
        return self._ensure_copy(version)

    def keep(self, copy: CachedVersion) -> None:
        """Remember `copy`, which answers well, for when the registry is unreachable."""
        golden = digest_path(copy.golden)
        kept = KeptVersion(copy.version, copy.bundle, golden)
        self._cache.remember(self._uri, describe_registry(), kept)

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
        try:
            copy = self._verify_copy(self._name, kept.version, kept.bundle, kept.golden)
            if self._key:
                signature = copy.folder.with_name(signatures.NAME)
                signatures.verify_signature(copy.folder, signature, self._key)
        except BundleError as error:
            log.warning("%s: the copy that was kept cannot be used: %s", self._uri, error)
            return None
        return copy

    def _verify_copy(self, name: str, version: str, digest: str, golden: str) -> CachedVersion:
        """The copy with these digests; BundleError where it is not here or not sound."""
        folder = self._cache.locate(digest, golden)
        task = contents.verify_contents(folder, digest, golden)
        files, rows = folder / contents.FILES, folder / contents.GOLDEN
        return CachedVersion(name, version, digest, task, files, rows)

    def _ensure_copy(self, version: RegisteredVersion) -> CachedVersion:
        """The copy of a version, fetched if it is not here or not sound, with its evidence read."""
        digest = contents.read_digest(version, BUNDLE_TAG)
        golden = contents.read_digest(version, GOLDEN_TAG)
        known = (version.number, digest, golden, version.tags.get(EVIDENCE_TAG, ""))
        copy = self._verified.get(known)
        is_known = copy is not None and copy.folder.exists()
        if copy is None or not is_known:
            copy = self._find_or_fetch(version, digest, golden)
        if self._key:
            self._verify_signature(version, copy, self._key, is_known=is_known)
        if not is_known:
            read_evidence(version, self._key)
            self._verified[known] = copy
        self._cache.mark_used(copy.folder.parent)
        return copy

    def _find_or_fetch(self, version: RegisteredVersion, digest: str, golden: str) -> CachedVersion:
        """Find a sound copy; else fetch the version aside, and publish what was verified."""
        wanted = (version.name, version.number, digest, golden)
        with suppress(BundleError):
            return self._verify_copy(*wanted)
        with self._cache.open_aside() as aside:
            contents.fetch_contents(connect_store(), version, aside / "copy")
            with self._cache.hold_lock():
                with suppress(BundleError):  # another process was faster
                    return self._verify_copy(*wanted)
                self._cache.publish(aside / "copy", self._cache.locate(digest, golden))
        return self._verify_copy(*wanted)

    def _verify_signature(
        self, version: RegisteredVersion, copy: CachedVersion, key: Path, *, is_known: bool
    ) -> None:
        """Check the copy against the version's present signature, and keep that with it.

        One that is the same as that kept was checked before; one that is gone is removed here too.
        """
        kept = copy.folder.with_name(signatures.NAME)
        checked = kept.read_bytes() if is_known and kept.exists() else None
        with self._cache.open_aside() as aside:
            try:
                signature = fetch_signature(version, signatures.NAME, aside, key)
                if signature.read_bytes() != checked:
                    signatures.verify_signature(copy.folder, signature, key, Path(version.label))
            except BundleError:
                kept.unlink(missing_ok=True)
                raise
            signature.replace(kept)
