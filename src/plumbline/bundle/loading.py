"""Run the predictor of a bundle that was verified."""

from pathlib import Path
from typing import Any, cast

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
    than its predictor is run. The code that runs is that which was verified. The folder may be gone
    when this has returned: a predictor reads its files while it is built.
    """
    sealed, code, actual = verify_files(folder, folder)
    if expected is not None:
        compare_digests(expected, actual, folder)
    if task is not None:
        require_code(sealed, folder, task)
    module = import_code(f"plumbline_predictor_{actual[:16]}", code, folder)
    return cast(Predictor, module.load(folder.resolve(), form))
