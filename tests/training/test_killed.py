"""A training that is killed, wherever that is, and begun again ends like one that was not."""

import hashlib
import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.small_texts import CANDIDATES, small_params, write_examples

from plumbline.contract import layout
from plumbline.process.files import digest_path
from plumbline.tasks.text_classification.models import build_learner
from plumbline.training import fitting
from plumbline.training.checkpoint import CheckpointStore
from plumbline.training.loop import TrainingLoop

FORKS = multiprocessing.get_context("forkserver")  # imports the libraries once
FORKS.set_forkserver_preload(["pytest", "plumbline.tasks.text_classification.models"])
# Of which function the process dies at which call; those of AFTER are carried out before.
POINTS: dict[str, tuple[Any, str, int]] = {
    "first step": (TrainingLoop, "_count_step", 1),
    "after a checkpoint": (TrainingLoop, "_count_step", 4),
    "in the second epoch": (TrainingLoop, "_count_step", 10),
    "last step": (TrainingLoop, "_count_step", 21),
    "a checkpoint half written": (Path, "replace", 2),
    "best weights saved, state not": (CheckpointStore, "save_best", 2),
    "state saved, curve not": (TrainingLoop, "write_history", 1),
    "finished, not yet saved": (CheckpointStore, "load_best", 1),
}
AFTER = {"save_best"}


def die_at(owner: Any, name: str, count: int) -> None:
    """Let this process die at the `count`-th call of `owner.name`."""
    called, calls = getattr(owner, name), []

    def call(*arguments: Any, **keywords: Any) -> Any:
        calls.append(1)
        if len(calls) == count and name not in AFTER:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = called(*arguments, **keywords)
        if len(calls) == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    setattr(owner, name, call)


def train(folder: Path, candidate: str, point: str | None) -> None:
    """Train in `folder`, and write what came of it to result.json there."""
    os.chdir(folder)
    torch.set_num_threads(1)
    if point:
        die_at(*POINTS[point])
    params, steps = small_params(), []
    learner = build_learner(params, candidate, folder.parent / "examples")
    count_step = TrainingLoop._count_step

    def count(*arguments: Any) -> None:
        count_step(*arguments)
        steps.append(1)

    TrainingLoop._count_step = count
    fitting.fit(learner, params, candidate)
    weights = hashlib.sha256()
    for name, tensor in sorted(learner.module.state_dict().items()):
        weights.update(name.encode() + tensor.numpy().tobytes())
    curve = digest_path(layout.TRAINING / f"{candidate}.csv")
    result = {"weights": weights.hexdigest(), "curve": curve, "steps": len(steps)}
    Path("result.json").write_text(json.dumps(result))


def run(folder: Path, candidate: str, point: str | None = None) -> int | None:
    """Train in a process of its own; return its exit code."""
    process = FORKS.Process(target=train, args=(folder, candidate, point))
    process.start()
    process.join()
    return process.exitcode


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("candidate", CANDIDATES)
def test_killed_anywhere_training_ends_in_the_same_weights(candidate: str, tmp_path: Path) -> None:
    write_examples(tmp_path / "examples")
    results = {}
    for point in (None, *POINTS):
        folder = tmp_path / str(point)
        folder.mkdir()
        if point:
            assert run(folder, candidate, point) == -signal.SIGKILL, point
        assert run(folder, candidate) == 0, point
        results[point] = json.loads((folder / "result.json").read_text())
    undisturbed = results.pop(None)
    for point, result in results.items():
        assert result["weights"] == undisturbed["weights"], point
        assert result["curve"] == undisturbed["curve"], point
        assert (result["steps"] < undisturbed["steps"]) == (point != "first step"), point
