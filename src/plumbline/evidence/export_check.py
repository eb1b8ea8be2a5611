"""The winner's exported graph beside its trained weights, on rows that nobody knew before."""

import secrets
from typing import Any

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import BundleError
from plumbline.contract.params import Params
from plumbline.contract.records import ExportDifference
from plumbline.contract.steps import announce
from plumbline.contract.task import Task, count_rows
from plumbline.contract.trainings import name_candidate
from plumbline.evidence.gather import Subjects

NUM_ROWS = 200  # of the test split


def compare_export(
    name: str, digest: str, subjects: Subjects, task: Task[Params]
) -> list[ExportDifference]:
    """Answer random test rows with every form of the bundle `name`, and with its weights.

    BundleError where it is not the one with this `digest`, or its weights do not fit the model that
    params describe.
    """
    announce("compares the graph that answers with the trained weights")
    folder = layout.locate_bundle(name)
    candidate = name_candidate(name)
    rng = np.random.default_rng(secrets.randbits(32))
    num_rows = count_rows(subjects.inputs)
    picked = rng.permutation(num_rows)[:NUM_ROWS]
    columns: dict[str, list[Any]] = {}
    for name, values in subjects.inputs.items():
        columns[name] = [values[row] for row in picked]
    with bundle.ensure_private(folder) as private:
        bundle.require_digest(private, digest, folder)
        try:
            return task.models.compare_export(subjects.params, candidate, private, columns)
        except (LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
            raise BundleError(
                f"{folder}: its weights cannot be compared with its graph ({reason:.200}); train "
                f"it again (dvc repro -f train@{candidate})"
            ) from None
