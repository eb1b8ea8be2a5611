"""Where a search keeps its files, and the folder in which a trial trains.

A trial sees a checkout of its own: the examples of train and validation, and none of test.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.errors import BusyError
from plumbline.process.locks import hold
from plumbline.stages.train import link_all_but_test

HOME = Path(".plumbline/tuning")
STORAGE = HOME / "studies.db"
EXAMPLES, TRIALS, LOG = "examples", "trials", "trials.log"
# What a trial writes itself, or must not see.
OWN = ("data", "models", "reports", "mlruns", "params.yaml")


@contextmanager
def open_search(candidate: str) -> Iterator[Path]:
    """Yield the absolute folder of a search, with the examples that its trials read.

    One command at a time searches for one candidate in this checkout: BusyError for another.
    """
    folder = (HOME / candidate).resolve()
    (folder / TRIALS).mkdir(parents=True, exist_ok=True)
    with (folder / LOG).open("a", encoding="utf-8") as file:
        if not hold(file, wait=False):
            raise BusyError(
                f"another `plumbline tune {candidate}` is running here; wait for it or stop it"
            )
        shutil.rmtree(folder / EXAMPLES, ignore_errors=True)
        link_all_but_test(layout.EXAMPLES, folder / EXAMPLES)
        yield folder


@contextmanager
def open_trial(folder: Path, name: str) -> Iterator[Path]:
    """Make the folder of one trial; after a normal end or an error it is removed.

    A kill or Ctrl-C leaves it, with the checkpoints from which the trial goes on.
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
    except Exception:
        shutil.rmtree(trial, ignore_errors=True)
        raise
    shutil.rmtree(trial, ignore_errors=True)
