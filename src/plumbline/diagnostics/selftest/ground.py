"""A sound pipeline, small and whole, in a folder of its own: what faults are planted into."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.entrypoint import load_params, load_task
from plumbline.stages.control import control
from plumbline.stages.evaluate import evaluate
from plumbline.stages.ingest import ingest
from plumbline.stages.register import register
from plumbline.stages.train import train
from plumbline.stages.validate import validate

SHAPE = Path(__file__).with_name("params.yaml")
CANDIDATE = "linear"
FEW = "max_features: 20000", "max_features: 400"  # what the champion has to do with
ELSEWHERE = (
    "MLFLOW_TRACKING_URI",
    "PLUMBLINE_JOURNAL_URI",
)  # a selftest leaves no trace in anybody's registry


def settings() -> tuple[Params, Task]:
    """What params.yaml in the cwd says, and its task."""
    params = load_params(layout.PARAMS)
    return params, load_task(params.task)


def prepare(folder: Path) -> None:
    """Make `folder` a checkout in which a weak model is champion and a better one stands ready to be evaluated."""
    with entered(folder):
        subprocess.run(["git", "init", "--quiet"], check=True)
        text = SHAPE.read_text(encoding="utf-8")
        layout.PARAMS.write_text(text.replace(*FEW), encoding="utf-8")
        params, task = settings()
        Path(params.data.watch).mkdir(parents=True)  # type: ignore[attr-defined]
        ingest(params, task)
        validate(params, task)
        train(params, task, CANDIDATE)
        control(params, task, CANDIDATE)
        evaluate(params, task)
        register(params, task)
        layout.PARAMS.write_text(text, encoding="utf-8")
        train(*settings(), CANDIDATE)


@contextlib.contextmanager
def entered(folder: Path) -> Iterator[None]:
    """Work in `folder`, with the registry and the journal that lie in it."""
    away = {name: os.environ.pop(name) for name in ELSEWHERE if name in os.environ}
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        os.environ.update(away)


def copied(ground: Path, folder: Path) -> Path:
    """A copy of the ground, with a registry of its own; the files of its versions stay where they are."""
    shutil.copytree(
        ground,
        folder,
        ignore=lambda path, names: {"artifacts"} if path.endswith("mlruns") else set(),
    )
    return folder
