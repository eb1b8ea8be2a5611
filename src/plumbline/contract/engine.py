"""Who runs functions over the parts of a data set: a loop here, unless a stage chose another one.

An engine is given functions and items, and no data: what a function reads lies where every process
of the engine can read it.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol, TypeVar

Item = TypeVar("Item")
T = TypeVar("T")


class Engine(Protocol):
    """Runs one function for many items, on whatever processes and machines it has."""

    @property
    def is_local(self) -> bool:
        """Whether all of its processes are on this machine, and see its files."""
        ...

    def run(self, work: Callable[[Item], T], items: Sequence[Item]) -> Iterator[T]:
        """Yield what `work` returns for each item, in the order of the items.

        A PlumblineError of an item is raised when it is that item's turn.
        """
        ...

    def make_folder(self) -> Path:
        """Make a new folder that all processes of the engine see under this path."""
        ...


class LocalEngine:
    """One process, one item after another."""

    is_local = True

    def run(self, work: Callable[[Item], T], items: Sequence[Item]) -> Iterator[T]:
        """Yield what `work` returns for each item, as it is asked for."""
        return map(work, items)

    def make_folder(self) -> Path:
        """Make a new folder for temporary files."""
        return Path(tempfile.mkdtemp(prefix="plumbline-"))


_chosen: ContextVar[Engine] = ContextVar("engine")


def get_engine() -> Engine:
    """Return the engine that was chosen."""
    return _chosen.get(LocalEngine())


@contextmanager
def open_folder(engine: Engine) -> Iterator[Path]:
    """Give a new folder that all processes of the engine see; it is removed with the block."""
    folder = engine.make_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def use_engine(engine: Engine) -> Iterator[None]:
    """Use `engine` for rows that are opened inside the block, whenever they are read."""
    token = _chosen.set(engine)
    try:
        yield
    finally:
        _chosen.reset(token)
