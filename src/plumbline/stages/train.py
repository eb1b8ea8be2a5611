"""train: one candidate learns from accepted examples and is left on disk as a sealed bundle."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import DataError, RejectedError
from plumbline.contract.params import Params
from plumbline.contract.records import Learner
from plumbline.contract.task import Task
from plumbline.tracking import mlflow_runs

TEST = "test"  # the split whose answers decide


def train(params: Params, task: Task[Params], candidate: str) -> None:
    """Write models/<candidate>/ and reports/training/<candidate>.csv.

    If it is killed and run again, it continues from its last checkpoint.
    """
    refuse_unvalidated()
    layout.CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="train-", dir=layout.CHECKPOINTS.parent) as folder:
        examples = Path(folder)
        link_all_but_test(layout.EXAMPLES, examples)
        with mlflow_runs.track_run(params, f"train {candidate}") as log:
            log.log_dataset(
                task.name, layout.digest(layout.MANIFEST), layout.SOURCE.read_text(encoding="utf-8")
            )
            learn(params, task, candidate, examples, log, must_learn=True)


def link_all_but_test(examples: Path, target: Path) -> None:
    """Give `target` the files of `examples` without those of the test split (`test.*`).

    Who learns never gets the answers that decide. Raises DataError where no file is of the test
    split alone: then another file holds it.
    """
    files = sorted(path for path in examples.rglob("*") if path.is_file())
    kept = [path for path in files if path.name.partition(".")[0] != TEST]
    if len(kept) == len(files):
        raise DataError(
            f"{examples}: no file {TEST}.*, so another file holds the test split, and a candidate "
            "must not learn from it; run `dvc repro ingest`, or let the task write one file a split"
        )
    for path in kept:
        linked = target / path.relative_to(examples)
        linked.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, linked)
        except OSError:  # another disk, or one without links
            shutil.copyfile(path, linked)


def learn(
    params: Params,
    task: Task[Params],
    candidate: str,
    examples: Path,
    log: mlflow_runs.RunLog,
    *,
    must_learn: bool,
) -> None:
    """Train one candidate on a folder of examples; publish its sealed bundle and learning curve."""
    log.log_params({"candidate": candidate} | params.candidates[candidate].model_dump(mode="json"))
    learner = task.models.build_learner(params, candidate, examples)
    if learner.solve:
        learner.solve()
        with layout.write_aside(layout.TRAINING / f"{candidate}.csv") as aside:
            aside.write_text("epoch\n", encoding="utf-8")  # nothing was iterated
        log.set_tag("bundle", _publish(learner, task, candidate))
    else:
        # Seconds of import that a closed form need not wait for.
        from plumbline.training import fitting, ranks

        fitting.fit(learner, params, candidate, log, must_learn=must_learn)
        if ranks.is_main():
            log.set_tag("bundle", _publish(learner, task, candidate))
            fitting.remove_checkpoints(candidate)


def refuse_unvalidated() -> None:
    """Raise RejectedError for data that was not validated, or that changed since."""
    report: dict[str, Any] = {"accepted": False}
    if layout.VALIDATION.exists():
        report = layout.read_json(layout.VALIDATION)
    if not report["accepted"] or report["manifest"] != layout.digest(layout.MANIFEST):
        raise RejectedError(
            f"{layout.MANIFEST} is not what was validated; run `dvc repro validate`"
        )


def _publish(learner: Learner, task: Task[Params], candidate: str) -> str:
    """Publish the sealed bundle, whole, and return its digest."""
    layout.MODELS.mkdir(exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{candidate}.", dir=layout.MODELS))
    try:
        learner.save(aside)
        digest = bundle.seal(aside, task, candidate)
        layout.publish(aside, layout.locate_bundle(candidate))
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return digest
