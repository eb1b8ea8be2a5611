"""Run the predictor of a bundle that was verified."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from plumbline.bundle import files
from plumbline.bundle.importing import import_code
from plumbline.bundle.verification import compare_digests, require_code, verify_files
from plumbline.contract.task import Predictor, Task


def load(
    folder: Path,
    form: str | None = None,
    expected: str | None = None,
    task: Task[Any] | None = None,
) -> Predictor:
    """Verify `folder`, then build the predictor of its code, in the form served or `form`.

    Where a digest is `expected`, no other bundle is loaded; where a `task` is given, no other code
    than its predictor is run.

    What is verified is what is loaded: a folder that others can write to is copied to a private
    place first. That copy is gone when this returns, so a predictor reads its files while it is
    built.
    """
    with ensure_private(folder) as private:
        sealed, code, actual = verify_files(private, folder)
        if expected is not None:
            compare_digests(expected, actual, folder)
        if task is not None:
            require_code(sealed, folder, task)
        module = import_code(f"plumbline_predictor_{actual[:16]}", code, folder)
        return cast(Predictor, module.load(private, form))


@contextmanager
def ensure_private(folder: Path) -> Iterator[Path]:
    """The folder, or a private copy of it where another user could change it while it is used."""
    if files.is_private(folder):
        yield folder.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        copy = Path(private) / "bundle"
        files.copy_files(folder, copy)
        yield copy
