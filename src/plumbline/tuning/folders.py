"""Where a search keeps its files, and the folder in which a trial trains.

A trial sees a checkout of its own: the examples of train and validation, and none of test.
"""

import shutil
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.process.files import digest_files
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
    _link_examples(folder / EXAMPLES)
    shutil.copyfile(layout.PARAMS, folder / PARAMS)
    return folder


@contextmanager
def enter_trial(folder: Path, name: str) -> Iterator[None]:
    """Work in the folder of one trial; after a normal end or an error it is removed.

    A kill leaves it, with the checkpoints from which the trial goes on.
    """
    root = Path.cwd()
    trial = folder / TRIALS / name
    (trial / "data").mkdir(parents=True, exist_ok=True)
    for path in sorted(root.iterdir()):
        if path.name not in OWN and not path.name.startswith("."):
            _link(path, trial / path.name)
    for path in sorted((root / "data").iterdir()):
        if path.name != layout.EXAMPLES.name:
            _link(path, trial / "data" / path.name)
    _link(folder / EXAMPLES, trial / layout.EXAMPLES)
    with chdir(trial):
        try:
            yield
        except Exception:
            shutil.rmtree(trial, ignore_errors=True)
            raise
    shutil.rmtree(trial, ignore_errors=True)


def _link_examples(target: Path) -> None:
    """Give `target` today's examples; where it has them, a worker may be reading them."""
    aside = target.with_name(f".{target.name}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    link_all_but_test(layout.EXAMPLES, aside)
    if target.is_dir() and digest_files(aside) == digest_files(target):
        shutil.rmtree(aside)
        return
    shutil.rmtree(target, ignore_errors=True)
    aside.rename(target)


def _link(path: Path, target: Path) -> None:
    if not target.is_symlink():
        target.symlink_to(path)


@contextmanager
def lock_search(candidate: str) -> Iterator[None]:
    """Hold a kernel lock: one command at a time searches for one candidate in this checkout."""
    path = HOME / f"{candidate}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        if not hold(file, wait=False):
            raise PlumblineError(
                f"another `plumbline tune {candidate}` is running here; wait for it or stop it"
            )
        yield
