"""train: one candidate learns from accepted examples and is left on disk as a sealed bundle."""

import shutil
import tempfile
from pathlib import Path

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import RejectedError
from plumbline.contract.params import Params
from plumbline.contract.task import Learner, Task
from plumbline.tracking import mlflow_runs


def train(params: Params, task: Task, candidate: str) -> None:
    """Write models/<candidate>/ and reports/training/<candidate>.csv; killed and run again, it goes on where it was."""
    accepted()
    with mlflow_runs.run(params, f"train {candidate}") as log:
        log.dataset(
            task.name, layout.digest(layout.MANIFEST), layout.SOURCE.read_text(encoding="utf-8")
        )
        learn(params, task, candidate, layout.EXAMPLES, log, must_learn=True)


def learn(
    params: Params,
    task: Task,
    candidate: str,
    examples: Path,
    log: mlflow_runs.Log,
    *,
    must_learn: bool,
) -> None:
    """Train one candidate on the examples in a folder and publish its sealed bundle and its learning curve."""
    log.params({"candidate": candidate} | params.candidates[candidate].model_dump(mode="json"))
    learner = task.learner(params, candidate, examples)
    if learner.solve:
        learner.solve()
        with layout.written(layout.TRAINING / f"{candidate}.csv") as aside:
            aside.write_text("epoch\n", encoding="utf-8")  # nothing was iterated
        log.tag("bundle", _publish(learner, task, candidate))
    else:
        from plumbline.training import (
            fitting,
            ranks,
        )  # seconds of import that a closed form need not wait for

        fitting.fit(learner, params, candidate, log, must_learn=must_learn)
        if ranks.is_main():
            log.tag("bundle", _publish(learner, task, candidate))
            fitting.clean(candidate)


def accepted() -> None:
    """Refuse data that was not validated, or that changed since."""
    verdict = (
        layout.read_json(layout.VALIDATION) if layout.VALIDATION.exists() else {"accepted": False}
    )
    if not verdict["accepted"] or verdict["manifest"] != layout.digest(layout.MANIFEST):
        raise RejectedError(
            f"{layout.MANIFEST} is not what was validated; run `dvc repro validate`"
        )


def _publish(learner: Learner, task: Task, candidate: str) -> str:
    """Put the sealed bundle in its place, whole, and return its digest."""
    layout.MODELS.mkdir(exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{candidate}.", dir=layout.MODELS))
    try:
        learner.save(aside)
        digest = bundle.seal(aside, task, candidate)
        layout.publish(aside, layout.bundle(candidate))
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return digest
