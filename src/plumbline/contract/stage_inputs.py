"""Whether what a stage is about to read is what an earlier stage wrote, byte for byte."""

import os
from collections.abc import Iterator
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.errors import DamagedFileError
from plumbline.contract.params import Params
from plumbline.contract.parent_watch import DVC_STAGE
from plumbline.contract.recorded_outputs import RecordedOutput, hash_output, read_outputs
from plumbline.contract.trainings import locate_curve, locate_hardware, name_seeds

DATA = (layout.EXAMPLES, layout.MANIFEST)
# What each stage reads of earlier stages, as in dvc.yaml; `models` and the learning curves are
# those of the candidates in params.
INPUTS: dict[str, tuple[Path, ...]] = {
    "identify": (),
    "ingest": (layout.IDENTITY,),
    "validate": (*DATA, layout.SOURCE),
    "train": (*DATA, layout.VALIDATION),
    "control": (*DATA, layout.VALIDATION),
    "evaluate": (*DATA, layout.SOURCE, layout.VALIDATION, layout.MODELS, layout.TRAINING),
    "register": (
        *DATA,
        layout.EVIDENCE,
        layout.GOLDEN,
        layout.METRICS,
        layout.MODELS,
        layout.PREDICTIONS,
        layout.DRIFT_REFERENCE,
        layout.VALIDATION,
    ),
}


def verify_inputs(stage: str, params: Params) -> None:
    """Read what `stage` reads and compare it with dvc.lock, where DVC runs the stage.

    DVC has brought dvc.lock up to date by then. Raises DamagedFileError that names each file whose
    bytes are others.
    """
    if DVC_STAGE not in os.environ:
        return
    recorded = read_outputs()
    damaged = []
    for path in _list_inputs(stage, params):
        output = recorded.get(path.as_posix())
        if output is not None and path.exists():
            problem = describe_mismatch(output, hash_output(path))
            damaged += [problem] if problem else []
    if damaged:
        raise DamagedFileError(
            "\n  ".join([*damaged, "`make run` puts aside what is damaged, and makes it again"])
        )


def describe_mismatch(output: RecordedOutput, actual: str) -> str | None:
    """Describe how an output on disk differs from dvc.lock; None where it is the same."""
    if actual == output.digest:
        return None
    return (
        f"{output.path}: digest mismatch: dvc.lock records {output.digest[:12]} by {output.stage}, "
        f"found {actual[:12]}"
    )


def _list_inputs(stage: str, params: Params) -> Iterator[Path]:
    names = [*params.candidates, *map(layout.name_control, params.control.candidates)]
    for path in INPUTS[stage]:
        if path == layout.MODELS:
            yield from map(layout.locate_bundle, names)
            yield from map(locate_hardware, names)
            yield from (layout.locate_bundle(name_seeds(name)) for name in params.candidates)
        elif path == layout.TRAINING:
            yield from map(locate_curve, names)
        else:
            yield path
