"""The folder of verified copies: of this user alone, shared by all its processes."""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from plumbline.contract.errors import RegistryError
from plumbline.process import locks
from plumbline.process.files import read_json, write_json

FETCHES = ".fetch-"
IDLE_S = 86_400.0  # within a day a champion may come back, and is not fetched again


@dataclass(frozen=True)
class KeptVersion:
    """The last copy that an address led to."""

    version: str
    bundle: str
    golden: str


class CacheFolder:
    """Copies by their digests, and a record of each that is in use."""

    def __init__(self, root: Path | None) -> None:
        home = os.environ.get("PLUMBLINE_CACHE") or "~/.cache/plumbline"
        self._root = root or Path(home).expanduser()
        self._copies = self._root / "models"
        self._records = self._root / "latest"

    def locate(self, bundle: str, golden: str) -> Path:
        """The folder of a bundle with its golden rows, whether it exists or not."""
        return self._copies / f"{bundle}.{golden}"

    @contextmanager
    def open_aside(self) -> Iterator[Path]:
        """An empty private folder on the disk of the copies, gone after the block."""
        with self._explain_failures():
            self._prepare()
            private = tempfile.TemporaryDirectory(dir=self._copies, prefix=FETCHES)
        with private as name:
            yield Path(name)

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Only one process at a time publishes or removes copies."""
        with self._explain_failures():
            file = (self._records / "lock").open("a")
        with file:
            locks.hold(file)
            yield

    def publish(self, aside: Path, folder: Path) -> None:
        """Move a finished copy to `folder`, under the lock.

        What was there is damaged and is removed, and so are copies that nobody needs.
        """
        with self._explain_failures():
            if folder.exists():
                folder.rename(aside.parent / "damaged")
            aside.rename(folder)
            self._prune()

    def mark_used(self, folder: Path) -> None:
        """Note that a copy was used now."""
        with self._explain_failures():
            os.utime(folder)

    def remember(self, uri: str, registry: str, kept: KeptVersion) -> None:
        """Record which copy an address leads to now."""
        with self._explain_failures():
            write_json(self._locate_record(uri, registry), asdict(kept))

    def find_record(self, uri: str, registry: str) -> KeptVersion | None:
        """What was recorded of an address; None where there is no record, or it is damaged."""
        return _read_record(self._locate_record(uri, registry))

    def _locate_record(self, uri: str, registry: str) -> Path:
        return self._records / (hashlib.sha256(f"{registry} {uri}".encode()).hexdigest() + ".json")

    def _prepare(self) -> None:
        """Make both folders, for this user alone."""
        for folder in (self._copies, self._records):
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)

    def _prune(self) -> None:
        """Remove copies, and fetches that were cut off, that no record names and nobody uses."""
        records = map(_read_record, self._records.glob("*.json"))
        needed = {self.locate(kept.bundle, kept.golden) for kept in records if kept}
        for path in set(self._copies.iterdir()) - needed:
            with suppress(FileNotFoundError):  # another process has moved it to its place
                if time.time() - path.lstat().st_mtime > IDLE_S:
                    shutil.rmtree(path, ignore_errors=True)

    @contextmanager
    def _explain_failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RegistryError(
                f"{error.filename or self._root}: copies of models cannot be kept there "
                f"({error.strerror}); set PLUMBLINE_CACHE to a folder of your own"
            ) from None


def _read_record(path: Path) -> KeptVersion | None:
    """Read a record; None where there is none, or it is damaged."""
    try:
        return KeptVersion(**read_json(path))
    except (OSError, ValueError, TypeError):
        return None
