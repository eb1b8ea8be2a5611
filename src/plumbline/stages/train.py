"""train: one candidate learns from accepted examples and is left on disk as a sealed bundle."""

import os
import shutil
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import DataError, RejectedError
from plumbline.contract.leftovers import make_aside_folder
from plumbline.contract.params import Params
from plumbline.contract.records import Learner
from plumbline.contract.task import Task
from plumbline.tracking import run_log

TEST = "test"  # the split whose answers decide


def train(params: Params, task: Task[Params], candidate: str) -> None:
    """Write models/<candidate>/ and reports/training/<candidate>.csv.

    If it is killed and run again, it continues from its last checkpoint.
    """
    refuse_unvalidated()
    layout.CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    with make_aside_folder(layout.CHECKPOINTS.parent, "train") as examples:
        link_all_but_test(layout.EXAMPLES, examples)
        with run_log.track_run(params, "train", candidate) as log:
            log.log_dataset(task.name, "training")
            digest = learn(params, task, candidate, examples, log, must_learn=True)
            if digest:
                _log_bundle(log, params, candidate, digest)


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
    log: run_log.RunLog,
    *,
    must_learn: bool,
) -> str | None:
    """Train one candidate on a folder of examples; publish its sealed bundle and learning curve.

    Returns the bundle's digest; None in the other processes that torchrun starts.
    """
    config = params.candidates[candidate].model_dump(mode="json")
    training = params.training.model_dump(mode="json")
    log.log_params({"candidate": candidate, "seed": params.seed, "training": training} | config)
    learner = task.models.build_learner(params, candidate, examples)
    if learner.solve:
        learner.solve()
        with layout.write_aside(layout.TRAINING / f"{candidate}.csv") as aside:
            aside.write_text("epoch\n", encoding="utf-8")  # nothing was iterated
        return _publish(learner, task, candidate)
    # Seconds of import that a closed form need not wait for.
    from plumbline.training import fitting, ranks

    fitting.fit(learner, params, candidate, log, must_learn=must_learn)
    log.draw_learning_curve()
    if not ranks.is_main():
        return None
    digest = _publish(learner, task, candidate)
    fitting.remove_checkpoints(candidate)
    return digest


def refuse_unvalidated() -> None:
    """Raise RejectedError for data that was not validated, or that changed since."""
    report: dict[str, Any] = {"accepted": False}
    if layout.VALIDATION.exists():
        report = layout.read_json(layout.VALIDATION)
    if not report["accepted"] or report["manifest"] != layout.digest(layout.MANIFEST):
        raise RejectedError(
            f"{layout.MANIFEST} is not what was validated; run `dvc repro validate`"
        )


def _log_bundle(log: run_log.RunLog, params: Params, candidate: str, digest: str) -> None:
    """Log the bundle as a model of MLflow: its seal names every file, DVC keeps the files."""
    folder = layout.locate_bundle(candidate)
    log.log_artifact(folder / bundle.SEAL, "bundle")
    log.log_metrics({"bundle/num_bytes": bundle.num_bytes(folder)})
    log.log_model(candidate, digest, params.candidates[candidate].model_dump(mode="json"))


def _publish(learner: Learner, task: Task[Params], candidate: str) -> str:
    """Publish the sealed bundle, whole, and return its digest."""
    layout.MODELS.mkdir(exist_ok=True)
    with make_aside_folder(layout.MODELS, candidate) as aside:
        learner.save(aside)
        digest = bundle.seal(aside, task, candidate)
        layout.publish(aside, layout.locate_bundle(candidate))
    return digest
