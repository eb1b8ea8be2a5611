"""Verified local copies of registered versions: served is what was registered, also while the registry is away."""

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from plumbline import bundle
from plumbline.bundle import sealing, signatures, strict
from plumbline.bundle.files import MAX_BYTES
from plumbline.contract import layout
from plumbline.contract.errors import BundleError, RegistryError
from plumbline.registry import model_versions
from plumbline.registry.model_versions import BUNDLE_TAG, GOLDEN_TAG, Address
from plumbline.registry.reader import artifacts, decided, stores
from plumbline.registry.reader.cache import Cache, Pointer
from plumbline.registry.reader.stores import Store, Version

FILES, GOLDEN = "bundle", "golden.json"  # of a copy, named as in the package
MAX_GOLDEN = 64 << 20  # bytes
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Copy:
    """A registered version on this machine, every byte of it as it was registered."""

    name: str
    version: str
    bundle: str  # the digest that names it
    task: str
    folder: Path  # the bundle, for bundle.load
    golden: Path  # golden.json: {"inputs": columns, "params": {}, "outputs": columns}


class Mirror:
    """Copies of the versions of one model, beginning with the one that `uri` leads to.

    With a `public_key` (a PEM file; PLUMBLINE_PUBLIC_KEY if left out) only versions signed by that key are given.
    """

    def __init__(self, uri: str, cache: Path | None = None, public_key: Path | None = None) -> None:
        self._asked, self._uri, self._cache = model_versions.parse(uri), uri, Cache(cache)
        named = os.environ.get("PLUMBLINE_PUBLIC_KEY")
        self._key = public_key or (Path(named) if named else None)
        self._store: Store | None = None
        self._seen: set[Path] = set()  # copies that this object has verified

    def latest(self) -> Copy:
        """The version that the registry names now.

        Raises RegistryError where that is away or there is no such version, BundleError where it is not what was
        registered.
        """
        return self._copy(decided.agreed(self._asked, lambda: self._version(self._asked)))

    def version(self, number: str) -> Copy:
        """Another version of the model; raises as `latest` does."""
        return self._copy(
            self._version(model_versions.parse(f"models:/{self._asked.name}/{number}"))
        )

    def keep(self, copy: Copy) -> None:
        """Remember `copy`, which answers well, for when the registry is away."""
        golden = layout.digest(copy.golden)
        self._cache.remember(
            Pointer(self._uri, model_versions.where(), copy.version, copy.bundle, golden)
        )

    def current(self) -> Copy:
        """What `latest` gives or, while the registry is away, what was kept; raises as `latest` does."""
        try:
            return self.latest()
        except RegistryError as error:
            copy = self.local()
            if copy is None:
                raise
            log.warning("%s; the copy of version %s that is here will do", error, copy.version)
            return copy

    def local(self) -> Copy | None:
        """The copy that was kept last, verified anew, without registry or network; None where none is sound."""
        found = self._cache.recall(self._uri, model_versions.where())
        if found is None:
            return None
        place = self._cache.place(found.bundle, found.golden)
        try:
            task = _verify(place, found.bundle, found.golden)
            if self._key:
                signatures.check(place / FILES, place / signatures.NAME, self._key)
        except BundleError as error:
            log.warning("%s: the copy that was kept cannot be used: %s", self._uri, error)
            return None
        return Copy(
            self._asked.name, found.version, found.bundle, task, place / FILES, place / GOLDEN
        )

    def _version(self, asked: Address) -> Version:
        self._store = self._store or stores.find()
        return self._store.version(asked)

    def _copy(self, found: Version) -> Copy:
        """The copy of a version, fetched if it is not here or not sound."""
        digest, golden = (_digest(found, tag) for tag in (BUNDLE_TAG, GOLDEN_TAG))
        place = self._cache.place(digest, golden)
        self._cache.prepare()
        if place not in self._seen or not place.exists():
            try:
                _verify(place, digest, golden)
            except BundleError:
                self._fetch(found, place)
            if self._key:
                self._check_signature(found, place)
            self._seen.add(place)
        self._cache.use(place)
        told = sealing.parse(
            (place / FILES / sealing.SEAL).read_bytes(), place / FILES / sealing.SEAL
        )
        return Copy(found.name, found.number, digest, told["task"], place / FILES, place / GOLDEN)

    def _fetch(self, found: Version, place: Path) -> None:
        """Fetch the seal, then what it names and no more; put the copy in its place once it was verified."""
        digest, golden = found.tags[BUNDLE_TAG], found.tags[GOLDEN_TAG]
        with self._cache.aside() as aside:
            copy = aside / "copy"
            for folder in (copy, copy / FILES):
                folder.mkdir(mode=0o700)
            self._get(
                found.package,
                f"artifacts/{FILES}/{sealing.SEAL}",
                copy / FILES / sealing.SEAL,
                sealing.MAX_SEAL,
            )
            if bundle.digest(copy / FILES) != digest:
                raise BundleError(
                    f"{_called(found)}: is not the bundle that was registered; do not use it"
                )
            told = sealing.parse(
                (copy / FILES / sealing.SEAL).read_bytes(), _called(found) / sealing.SEAL
            )
            left = MAX_BYTES
            for name in told["files"]:
                self._get(found.package, f"artifacts/{FILES}/{name}", copy / FILES / name, left)
                left -= (copy / FILES / name).stat().st_size
            self._get(found.package, f"artifacts/{GOLDEN}", copy / GOLDEN, MAX_GOLDEN)
            _verify(copy, digest, golden, _called(found))
            with self._cache.locked():
                if not _sound(place, digest, golden):
                    self._cache.publish(copy, place)

    def _get(self, location: str, name: str, target: Path, limit: int) -> None:
        assert self._store is not None  # noqa: S101  asked for the version before
        artifacts.fetch(self._store, location, name, target, limit)

    def _check_signature(self, found: Version, place: Path) -> None:
        """Hold the copy against the signature that lies beside the version now, and keep that with it."""
        assert self._key is not None  # noqa: S101
        with self._cache.aside() as aside:
            if found.run is None:
                raise BundleError(
                    f"{_called(found)}: is not signed, its run is gone; do not use it"
                )
            try:
                self._get(found.run, signatures.NAME, aside / signatures.NAME, signatures.MAX_BYTES)
            except artifacts.MissingError:
                raise BundleError(
                    f"{_called(found)}: is not signed, and only what {self._key} signed may be used here"
                ) from None
            signatures.check(place / FILES, aside / signatures.NAME, self._key, _called(found))
            (aside / signatures.NAME).replace(place / signatures.NAME)


def _verify(place: Path, digest: str, golden: str, called: Path | None = None) -> str:
    """The task of a copy whose files are those of the digests; else BundleError, in which it is `called` so."""
    called = called or place
    told = bundle.verify(place / FILES, called)
    if bundle.digest(place / FILES) != digest:
        raise BundleError(f"{called}: is another bundle than {digest}; do not use it")
    try:
        if layout.digest(place / GOLDEN) != golden:
            raise BundleError(
                f"{called / GOLDEN}: is not what was registered; do not use this version"
            )
        rows = strict.loads((place / GOLDEN).read_bytes())
    except (OSError, ValueError) as error:
        raise BundleError(
            f"{called / GOLDEN}: damaged ({error}); do not use this version"
        ) from None
    match rows:
        case {"inputs": dict(), "params": dict(), "outputs": dict()}:
            return str(told["task"])
    raise BundleError(
        f"{called / GOLDEN}: holds no inputs, params and outputs; do not use this version"
    )


def _sound(place: Path, digest: str, golden: str) -> bool:
    try:
        _verify(place, digest, golden)
    except BundleError:
        return False
    return True


def _digest(found: Version, tag: str) -> str:
    """A digest that a version's tags name, which also names a folder here."""
    value = found.tags.get(tag, "")
    if not sealing.DIGEST.fullmatch(value):
        raise BundleError(
            f"{_called(found)}: its tag {tag} is {value!r:.100}, no SHA-256; register it again with `dvc repro`"
        )
    return value


def _called(found: Version) -> Path:
    return Path(f"{found.name} version {found.number}")
