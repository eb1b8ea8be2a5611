"""Where verified copies are kept on this machine: a folder of this user alone, shared by all its processes."""

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from plumbline.bundle import strict
from plumbline.contract import layout
from plumbline.contract.errors import RegistryError

KEPT = 3  # copies that no pointer names and that stay, the last used ones
IDLE_S = 3600.0  # a copy used since may be about to be loaded
ABANDONED_S = 86_400.0  # a fetch that is older was cut off
MAX_POINTER = 10_000  # bytes


@dataclass(frozen=True)
class Pointer:
    """Which copy was the last that an address led to."""

    uri: str
    registry: str
    version: str
    bundle: str
    golden: str


class Cache:
    """Copies by their digests, and pointers to those in use."""

    def __init__(self, root: Path | None) -> None:
        named = os.environ.get("PLUMBLINE_CACHE")
        self._root = root or (Path(named) if named else Path("~/.cache/plumbline").expanduser())
        self._copies, self._pointers = self._root / "models", self._root / "latest"

    def prepare(self) -> None:
        """Make the folders this user's alone."""
        with self._told():
            self._prepare()

    def place(self, bundle: str, golden: str) -> Path:
        """Where the copy of a bundle with its golden rows is, or would be."""
        return self._copies / f"{bundle}.{golden}"

    @contextmanager
    def aside(self) -> Iterator[Path]:
        """An empty private folder on the disk of the copies, gone after the block."""
        with self._told():
            self._prepare()
            private = tempfile.TemporaryDirectory(dir=self._copies, prefix=".fetch-")
        with private as name:
            yield Path(name)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time puts copies in place or removes them."""
        with self._told():
            self._prepare()
            handle = os.open(self._pointers / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def publish(self, aside: Path, place: Path) -> None:
        """Move a finished copy to its place, under the lock; what was there is damaged and goes, old copies too."""
        with self._told():
            if place.exists():
                place.rename(aside.parent / "damaged")
            aside.rename(place)
            self._prune()

    def use(self, place: Path) -> None:
        """Note that a copy was used now."""
        with self._told():
            os.utime(place)

    def remember(self, pointer: Pointer) -> None:
        """Note that an address leads to a copy now."""
        with self.locked(), self._told():
            layout.write_json(self._pointer(pointer.uri, pointer.registry), asdict(pointer))

    def recall(self, uri: str, registry: str) -> Pointer | None:
        """What was remembered of an address; None where it was nothing, or is damaged."""
        found = _read(self._pointer(uri, registry))
        return found if found and (found.uri, found.registry) == (uri, registry) else None

    def _pointer(self, uri: str, registry: str) -> Path:
        return self._pointers / (hashlib.sha256(f"{registry} {uri}".encode()).hexdigest() + ".json")

    def _prepare(self) -> None:
        """Both folders are there and this user's alone, whatever the one above them is."""
        for folder in (self._copies, self._pointers):
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            about = folder.lstat()
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
                raise PermissionError(0, "belongs to another user, or is a link", str(folder))
            if about.st_mode & 0o077:
                folder.chmod(0o700)

    def _prune(self) -> None:
        pointers = [_read(path) for path in self._pointers.glob("*.json")]
        needed = {self.place(found.bundle, found.golden) for found in pointers if found}
        now, spare = time.time(), []
        for path in self._copies.iterdir():
            try:
                age = now - path.lstat().st_mtime
            except FileNotFoundError:
                continue  # another process has fetched, and moved it to its place
            if path.name.startswith(".fetch-"):
                if age > ABANDONED_S:
                    shutil.rmtree(path, ignore_errors=True)
            elif path not in needed:
                spare.append((age, path))
        for age, path in sorted(spare)[KEPT:]:
            if age > IDLE_S:
                shutil.rmtree(path, ignore_errors=True)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RegistryError(
                f"{error.filename or self._root}: copies of models cannot be kept there ({error.strerror}); "
                "set PLUMBLINE_CACHE to a folder of your own"
            ) from None


def _read(path: Path) -> Pointer | None:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            found: Any = strict.loads(file.read(MAX_POINTER))
        pointer = Pointer(**found)
    except (OSError, ValueError, TypeError):
        return None
    return pointer if all(isinstance(value, str) for value in asdict(pointer).values()) else None
