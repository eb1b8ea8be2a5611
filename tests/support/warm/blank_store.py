"""An empty database of MLflow, made once and copied wherever MLflow would make another one.

MLflow creates a SQLite database by some sixty migrations, each written to the disk: one to two CPU
seconds for a registry, and a hundred tests begin with an empty registry.
"""

import contextlib
import fcntl
import sqlite3
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

MODULE = "mlflow.store.db.utils"


def install_blank_store(folder: Path) -> None:
    """Let MLflow, when it is imported, copy the empty database that `folder` keeps."""
    sys.meta_path.insert(0, _Finder(folder / "blank.db"))


class _Finder(MetaPathFinder):
    """Finds the one module as Python does, and has its function replaced once it was imported."""

    def __init__(self, blank: Path) -> None:
        self._blank = blank

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            _replace_after_import(spec.loader, self._blank)
        return spec


def _replace_after_import(loader: Loader, blank: Path) -> None:
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        execute(module)
        module._initialize_tables = _build_function(module._initialize_tables, blank)

    loader.exec_module = exec_module  # type: ignore[method-assign]


def _build_function(create: Callable[[Any], None], blank: Path) -> Callable[[Any], None]:
    """Build what copies `blank` into an empty SQLite file and leaves other databases to MLflow."""

    def initialize_tables(engine: Any) -> None:
        path = engine.url.database
        if engine.dialect.name != "sqlite" or not path or not _is_empty(Path(path)):
            create(engine)
            return
        _make_once(create, blank)
        _copy(blank, Path(path))

    return initialize_tables


def _is_empty(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0


def _make_once(create: Callable[[Any], None], blank: Path) -> None:
    import sqlalchemy

    with blank.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not blank.exists():
            aside = blank.with_suffix(".new")
            aside.unlink(missing_ok=True)
            engine = sqlalchemy.create_engine(f"sqlite:///{aside}")
            create(engine)
            engine.dispose()
            aside.replace(blank)


def _copy(source: Path, target: Path) -> None:
    with (
        contextlib.closing(sqlite3.connect(source)) as old,
        contextlib.closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)
