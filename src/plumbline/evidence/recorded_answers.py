"""The answers that an evaluation keeps: to be asked again, golden rows, the reference of drift."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.records import Candidate
from plumbline.contract.steps import announce
from plumbline.contract.task import Columns, Predictor, Task, count_rows, take_rows
from plumbline.evidence.predictors import Recording
from plumbline.process.files import write_json
from plumbline.registry.package.packaging import describe_package
from plumbline.registry.package.rehearsal import Rehearsal, ask_package

if TYPE_CHECKING:
    import pandas as pd

NUM_GOLDEN = 32
NUM_REFERENCE = 2000


def rehearse_winner(
    winner: Candidate,
    digest: str,
    predictor: Predictor,
    golden: Mapping[str, Any],
    recording: Recording,
    task: Task[Any],
) -> Rehearsal:
    """Package the winner as `register` would, and ask it all again.

    BundleError where its bundle is not, or no longer, the one with this `digest`.
    """
    announce("runs the package alone, in a clean process, on every held-out row")
    folder = layout.locate_bundle(winner.bundle)
    longest = task.scoring.build_longest_input(predictor)
    calls, row_ms = recording.read_calls(), winner.latency_ms["one_p95"]
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        path = Path(private, layout.GOLDEN.name)
        write_json(path, golden)
        described = describe_package(folder, path, task, Path(private))
        bundle.require_digest(Path(described["artifacts"]["bundle"]), digest, folder)
        return ask_package(described, path, task, calls, longest, row_ms)


def answer_golden_rows(predictor: Predictor, inputs: Columns, task: Task[Any]) -> dict[str, Any]:
    """Answer rows spread over the test split; the packaged model must repeat the answers."""
    num_rows = count_rows(inputs)
    rows = take_rows(inputs, _spread_rows(num_rows, NUM_GOLDEN))
    settings = _read_defaults(task)
    outputs = predictor.predict(rows, **settings)
    return {"inputs": rows, "params": settings, "outputs": outputs}


def build_reference(
    predictor: Predictor,
    inputs: Columns,
    test_rows: "pd.DataFrame",
    slices: Sequence[str],
    task: Task[Any],
) -> "pd.DataFrame":
    """Answer rows spread over the test split, in the columns of the request log.

    Drift compares requests with this table. `test_rows` are the manifest's rows of the test split;
    their label and the columns of `slices` are added.
    """
    import pandas as pd

    picked = _spread_rows(len(test_rows), NUM_REFERENCE)
    rows = take_rows(inputs, picked)
    outputs = predictor.predict(rows, **_read_defaults(task))
    columns = {f"input.{name}": values for name, values in rows.items()}
    for field in task.signature.outputs:
        # Not a nested one, and not one that this model does not have.
        if isinstance(field.type, str) and field.name in outputs:
            columns[f"output.{field.name}"] = outputs[field.name]
    known = list(dict.fromkeys(["label", *slices]))
    return pd.DataFrame(columns).join(test_rows[known].iloc[picked].reset_index(drop=True))


def _spread_rows(total: int, wanted: int) -> list[int]:
    """Return `wanted` row numbers, or all of fewer, evenly spread over `total` rows."""
    positions = np.linspace(0, total - 1, min(wanted, total))
    return [int(row) for row in np.unique(positions.astype(int))]


def _read_defaults(task: Task[Any]) -> dict[str, Any]:
    return {param.name: param.default for param in task.signature.params}
