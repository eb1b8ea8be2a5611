"""Trains the same tiny models many times, each time killed at another point; prints the results.

    python tests/support/killed_training.py FOLDER

Each training is a forked child, so that the libraries are imported once. The parent starts no
threads.
"""

import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tests.support.small_texts import CANDIDATES, small_params, write_examples

from plumbline.contract import layout
from plumbline.process.files import digest_path
from plumbline.tasks.text_classification.models import build_learner
from plumbline.training import fitting
from plumbline.training.checkpoint import CheckpointStore
from plumbline.training.loop import TrainingLoop


def main(folder: Path) -> None:
    examples = folder / "examples"
    write_examples(examples)
    results: dict[str, dict[str, Any]] = {}
    for name in CANDIDATES:
        results[name] = {
            point: _train_twice(folder / f"{name}-{point}", name, examples, kill)
            for point, kill in POINTS.items()
        }
    print(json.dumps(results))  # noqa: T201 (what the test reads)


def _train_twice(
    folder: Path, candidate: str, examples: Path, kill: Callable[[], None] | None
) -> dict[str, Any]:
    """Train until killed, then again without.

    Returns what is on disk at the end, and how the first process ended.
    """
    folder.mkdir()
    digests = folder / "digests.json"
    ended_by = None
    if kill:
        ended_by = _run_child(folder, candidate, examples, kill)
        digests.unlink(missing_ok=True)
    _run_child(folder, candidate, examples, None)
    return {"killed": ended_by == signal.SIGKILL, **json.loads(digests.read_text())}


def _run_child(
    folder: Path, candidate: str, examples: Path, kill: Callable[[], None] | None
) -> int:
    """Train in a separate process; return the signal that ended it, or 0."""
    pid = os.fork()
    if pid == 0:
        try:
            os.chdir(folder)
            torch.set_num_threads(1)
            if kill:
                kill()
            _train(candidate, examples)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) * -1


def _train(candidate: str, examples: Path) -> None:
    params = small_params()
    learner = build_learner(params, candidate, examples)
    steps: list[int] = []
    count_step = TrainingLoop._count_step

    def count(self: TrainingLoop, *arguments: Any) -> None:
        count_step(self, *arguments)
        steps.append(self.state.step)

    TrainingLoop._count_step = count  # type: ignore[method-assign]
    fitting.fit(learner, params, candidate)
    weights = hashlib.sha256()
    for name, tensor in sorted(learner.module.state_dict().items()):
        weights.update(name.encode() + tensor.numpy().tobytes())
    curve = digest_path(layout.TRAINING / f"{candidate}.csv")
    Path("digests.json").write_text(
        json.dumps({"weights": weights.hexdigest(), "curve": curve, "steps": len(steps)})
    )


def _kill_at(owner: Any, name: str, count: int, after: bool = False) -> Callable[[], None]:
    """Die at the `count`-th call of `owner.name`, before or after it."""

    def kill() -> None:
        called = getattr(owner, name)
        calls: list[int] = []

        def die(*arguments: Any, **keywords: Any) -> Any:
            calls.append(1)
            if len(calls) == count and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            answer = called(*arguments, **keywords)
            if len(calls) == count and after:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        setattr(owner, name, die)

    return kill


POINTS: dict[str, Callable[[], None] | None] = {
    "undisturbed": None,
    "first step": _kill_at(TrainingLoop, "_count_step", 1),
    "after a checkpoint": _kill_at(TrainingLoop, "_count_step", 4),
    "in the second epoch": _kill_at(TrainingLoop, "_count_step", 10),
    "last step": _kill_at(TrainingLoop, "_count_step", 21),
    "a checkpoint half written": _kill_at(Path, "replace", 2),
    "best weights saved, state not": _kill_at(CheckpointStore, "save_best", 2, after=True),
    "state saved, curve not": _kill_at(TrainingLoop, "write_history", 1),
    "finished, not yet saved": _kill_at(CheckpointStore, "load_best", 1),
}

if __name__ == "__main__":
    main(Path(sys.argv[1]))
