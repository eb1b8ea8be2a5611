"""Where a search keeps its files, and the folder in which a trial trains.

A trial sees a checkout of its own: the examples of train and validation, and none of test.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.process.locks import hold
from plumbline.stages.train import link_all_but_test

HOME = Path(".plumbline/tuning")
STORAGE = HOME / "studies.db"
PARAMS, EXAMPLES, TRIALS = "params.yaml", "examples", "trials"
# What a trial writes itself, or must not see.
OWN = ("data", "models", "reports", "mlruns", "params.yaml")


def prepare_search(candidate: str) -> Path:
    """Return the absolute folder of a search, with the examples and params that trials read."""
    folder = (HOME / candidate).resolve()
    (folder / TRIALS).mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / EXAMPLES, ignore_errors=True)
    (folder / EXAMPLES).mkdir()
    link_all_but_test(layout.EXAMPLES, folder / EXAMPLES)
    shutil.copyfile(layout.PARAMS, folder / PARAMS)
    return folder


@contextmanager
def open_trial(folder: Path, name: str) -> Iterator[Path]:
    """Make the folder of one trial; after a normal end or an error it is removed.

    A kill leaves it, with the checkpoints from which the trial goes on.
    """
    root = Path.cwd()
    trial = folder / TRIALS / name
    (trial / "data").mkdir(parents=True, exist_ok=True)
    shown = [path for path in root.iterdir() if path.name not in OWN and path.name[0] != "."]
    shown += [path for path in (root / "data").iterdir() if path.name != layout.EXAMPLES.name]
    targets = {trial / path.relative_to(root): path for path in shown}
    targets[trial / layout.EXAMPLES] = folder / EXAMPLES
    for target, path in targets.items():
        if not target.is_symlink():
            target.symlink_to(path)
    try:
        yield trial
    finally:
        shutil.rmtree(trial, ignore_errors=True)


@contextmanager
def lock_search(candidate: str) -> Iterator[IO[str]]:
    """Hold a kernel lock: one command at a time searches for one candidate in this checkout.

    The workers inherit the open file, so it is held until the last of them has ended too.
    """
    path = HOME / f"{candidate}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        if not hold(file, wait=False):
            raise PlumblineError(
                f"another `plumbline tune {candidate}` is running here; wait for it or stop it"
            )
        yield file
