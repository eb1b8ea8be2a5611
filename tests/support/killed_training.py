"""Trains the same tiny models again and again, killed at another place each time, and prints what became of them.

    python tests/support/killed_training.py FOLDER

Each training is a forked child, so that the libraries are imported once. The parent starts no threads.
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
from tests.support.small_texts import CANDIDATES, Silent, small_params, write_examples

from plumbline.contract import layout
from plumbline.tasks.text_classification.models import learner
from plumbline.training import fitting
from plumbline.training.checkpoint import Store
from plumbline.training.loop import Loop


def main(folder: Path) -> None:
    examples = folder / "examples"
    write_examples(examples)
    found = {
        name: {
            place: _trained(folder / f"{name}-{place}", name, examples, kill)
            for place, kill in PLACES.items()
        }
        for name in CANDIDATES
    }
    print(json.dumps(found))  # noqa: T201 (what the test reads)


def _trained(
    folder: Path, candidate: str, examples: Path, kill: Callable[[], None] | None
) -> dict[str, Any]:
    """Train until killed, then again without; what is on disk at the end, and how the first process ended."""
    folder.mkdir()
    ended = _child(folder, candidate, examples, kill) if kill else None
    if kill:
        (folder / "digests.json").unlink(missing_ok=True)
    _child(folder, candidate, examples, None)
    return {"killed": ended == signal.SIGKILL, **json.loads((folder / "digests.json").read_text())}


def _child(folder: Path, candidate: str, examples: Path, kill: Callable[[], None] | None) -> int:
    """The signal that ended a training in a process of its own, or 0."""
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
    made = learner(params, candidate, examples)
    steps: list[int] = []
    counted = Loop.on_train_batch_end

    def count(self: Loop, *arguments: Any) -> None:
        counted(self, *arguments)
        steps.append(self.state.step)

    Loop.on_train_batch_end = count  # type: ignore[method-assign]
    fitting.fit(made, params, candidate, Silent())
    weights = hashlib.sha256()
    for name, tensor in sorted(made.module.state_dict().items()):
        weights.update(name.encode() + tensor.numpy().tobytes())
    curve = layout.digest(layout.TRAINING / f"{candidate}.csv")
    Path("digests.json").write_text(
        json.dumps({"weights": weights.hexdigest(), "curve": curve, "steps": len(steps)})
    )


def _at_step(step: int) -> Callable[[], None]:
    def kill() -> None:
        ended = Loop.on_train_batch_end

        def die(self: Loop, *arguments: Any) -> None:
            if self.state.step + 1 == step:
                os.kill(os.getpid(), signal.SIGKILL)
            ended(self, *arguments)

        Loop.on_train_batch_end = die  # type: ignore[method-assign]

    return kill


def _at(owner: Any, name: str, count: int, after: bool) -> Callable[[], None]:
    """Die at the `count`-th call of `owner.name`, before or after it."""

    def kill() -> None:
        called, calls = getattr(owner, name), []

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


PLACES: dict[str, Callable[[], None] | None] = {
    "undisturbed": None,
    "first step": _at_step(1),
    "after a checkpoint": _at_step(4),
    "in the second epoch": _at_step(10),
    "last step": _at_step(21),
    "a checkpoint half written": _at(Path, "replace", 2, after=False),
    "best weights saved, state not": _at(Store, "save_best", 2, after=True),
    "state saved, curve not": _at(Loop, "write_history", 1, after=False),
    "finished, not yet saved": _at(Store, "load_best", 1, after=False),
}

if __name__ == "__main__":
    main(Path(sys.argv[1]))
