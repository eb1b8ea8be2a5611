"""The winner in each of its forms: what is served, what it costs and what it loses.

A form (`fp32`, `int8`) is one export of a trained model; the loss is against the form `fp32`.
"""

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import BundleError
from plumbline.contract.params import Params
from plumbline.contract.records import Candidate, ExportDifference, Scores
from plumbline.contract.steps import announce
from plumbline.contract.task import Columns, Predictor, Task, count_rows
from plumbline.contract.trainings import name_candidate
from plumbline.evidence.latency import measure_latency
from plumbline.evidence.predictors import open_candidate

if TYPE_CHECKING:
    from plumbline.evidence.gather import Subjects

NUM_ROWS = 200  # of the test split, drawn when forms are compared with the weights


def measure_forms(
    winner: Candidate, digest: str, predictor: Predictor, inputs: Columns, task: Task[Any]
) -> tuple[list[dict[str, Any]], dict[str, Scores]]:
    """Measure every form of `winner`, the served one first; `predictor` answers in that one.

    `digest` is that of the winner's bundle. Returns what each costs, and scores of all but the
    served one by name.
    """
    served, *others = predictor.forms
    forms = [_describe_form(served, predictor, winner.latency_ms)]
    scores = {}
    for name in others:
        other = open_candidate(winner.bundle, task, digest, name)
        forms.append(_describe_form(name, other, measure_latency(other, inputs)))
        scores[name] = other.score_split(task, "test")
    return forms, scores


def compare_export(
    name: str, digest: str, subjects: "Subjects", task: Task[Params]
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


def _describe_form(
    name: str, predictor: Predictor, latency_ms: Mapping[str, float]
) -> dict[str, Any]:
    """Describe what a form costs; its size is None where the predictor does not tell."""
    times = {key.removeprefix("one_"): value for key, value in latency_ms.items()}
    return {"name": name, "num_bytes": getattr(predictor, "num_bytes", None), **times}
