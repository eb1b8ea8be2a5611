"""Flips single bits in what a pipeline left, and asks the code that reads it whether it notices."""

import contextlib
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.damage import hash_output, read_outputs
from tests.support.faults.machine import Machine
from tests.support.faults.tables import say

from plumbline import bundle
from plumbline.contract.errors import PlumblineError
from plumbline.registry import journal

Check = Callable[[], str]  # returns "caught", "harmless" or "silent"


def flip_bits(machine: Machine, num_flips: int, seed: int) -> dict[str, Counter[str]]:
    """Flip `num_flips` bits in each kind of file of a finished checkout; count what followed."""
    draw = random.Random(seed)
    counts: dict[str, Counter[str]] = {}
    if not num_flips:
        return counts
    machine.site.restore("done")
    with contextlib.chdir(machine.site.work):
        kinds = {
            "bundles": list(_list_bundles()),
            "tree": list(_list_tree()),
            "cache": list(_list_cache()),
            "journal": list(_list_journal()),
        }
        for kind, files in kinds.items():
            counts[kind] = Counter(_flip_one(draw, files) for _ in range(num_flips))
    return counts


def _flip_one(draw: random.Random, files: list[tuple[Path, Check]]) -> str:
    path, check = draw.choice(files)
    content = path.read_bytes()
    position = draw.randrange(len(content))
    damaged = bytearray(content)
    damaged[position] ^= 1 << draw.randrange(8)
    _write_in_place(path, bytes(damaged))
    try:
        return check()
    except Exception as error:  # noqa: BLE001  a user would see its traceback
        say(f"  bit flipped in {path}, byte {position}: {type(error).__name__}: {error}")
        return "traceback"
    finally:
        _write_in_place(path, content)


def _write_in_place(path: Path, content: bytes) -> None:
    """Write as a failing disk does: mode and time stay."""
    status = path.stat()
    path.chmod(0o644)
    path.write_bytes(content)
    path.chmod(status.st_mode)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _list_bundles() -> Iterator[tuple[Path, Check]]:
    for folder in [path.parent for path in Path("models").glob("*/bundle.json")]:
        expected = bundle.digest(folder)

        def check(folder: Path = folder, expected: str = expected) -> str:
            try:
                bundle.verify(folder)
            except PlumblineError:
                return "caught"
            return "caught" if bundle.digest(folder) != expected else "silent"

        yield from ((path, check) for path in _list_filled(folder))


def _list_tree() -> Iterator[tuple[Path, Check]]:
    for name, recorded in read_outputs(Path()).items():
        path = Path(name)

        def check(path: Path = path, digest: str = recorded) -> str:
            return "caught" if hash_output(path) != digest else "silent"

        files = _list_filled(path) if path.is_dir() else [path]
        yield from ((file, check) for file in files)


def _list_cache() -> Iterator[tuple[Path, Check]]:
    for path in _list_filled(Path(".dvc/cache/files/md5")):

        def check(path: Path = path) -> str:
            name = f"{path.parent.name}{path.name}".removesuffix(".dir")
            return "caught" if hash_output(path) != name else "silent"

        yield path, check


def _list_journal() -> Iterator[tuple[Path, Check]]:
    path = Path("mlruns/journal.db").absolute()

    def read() -> list[journal.Entry]:
        with journal.read_journal(f"sqlite:///{path}") as book:
            return book.read_entries()

    expected = read()

    def check() -> str:
        try:
            return "harmless" if read() == expected else "silent"
        except PlumblineError:
            return "caught"

    yield path, check


def _list_filled(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
