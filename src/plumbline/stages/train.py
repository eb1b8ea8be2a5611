"""train: one candidate learns from accepted examples and is left on disk as a sealed bundle."""

import shutil
import tempfile
from pathlib import Path

from plumbline import bundle, layout
from plumbline.contract import Task
from plumbline.errors import RejectedError
from plumbline.params import Params


def train(params: Params, task: Task, candidate: str) -> None:
    """Write models/<candidate>/ and reports/training/<candidate>.csv; killed and run again, it goes on where it was."""
    from plumbline import tracking, training

    _accepted()
    with tracking.run(params, f"train {candidate}") as log:
        learner = task.learner(params, candidate, layout.EXAMPLES)
        if learner.solve:
            learner.solve()
        else:
            training.fit(learner, params, candidate, log)
        layout.MODELS.mkdir(exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{candidate}.", dir=layout.MODELS))
        try:
            learner.save(aside)
            log.tag("bundle", bundle.seal(aside, task, candidate))
            layout.publish(aside, layout.bundle(candidate))
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _accepted() -> None:
    """Refuse data that was not validated, or that changed since."""
    verdict = layout.read_json(layout.VALIDATION)
    if not verdict["accepted"] or verdict["manifest"] != layout.digest(layout.MANIFEST):
        raise RejectedError("data/manifest.parquet is not what was validated; run `dvc repro validate`")
