"""Faulty models: a bundle with another predictor in front, or with the files of another one."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import Task

WRAPPER = Path(__file__).with_name("wrapped_predictor.py")
SLOW = Path(__file__).with_name("slow_predictor.py")


def wrap_predictor(
    task: Task[Params], candidate: str, code: Path, config: Mapping[str, Any]
) -> None:
    """Put `code` around the predictor in the bundle of `candidate`, and seal it as train does."""
    folder = layout.locate_bundle(candidate)
    shutil.copy(folder / "predictor.py", folder / "sound.py")
    shutil.copy(code, folder / "faulty.py")
    layout.write_json(folder / "faulty.json", dict(config))
    bundle.seal(folder, replace(task, predictor=WRAPPER), candidate)


def exchange_bundle(candidate: str, other: Path) -> None:
    """Replace the bundle of `candidate` with the bundle in `other`."""
    shutil.rmtree(layout.locate_bundle(candidate))
    shutil.copytree(other, layout.locate_bundle(candidate))
