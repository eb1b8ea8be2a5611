"""What a search asks of its workers."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.process.files import digest_path
from plumbline.training.code_digest import digest_code
from plumbline.tuning.folders import EXAMPLES
from plumbline.tuning.space import read_space
from plumbline.tuning.studies import Direction

LOWER_IS_BETTER = ("loss", "nll", "error", "ece", "brier", "cost")


@dataclass(frozen=True)
class SearchRequest:
    """One search, or the repeats of its winner; plain values, which travel to a worker as JSON."""

    candidate: str
    study: str  # its name in the storage
    storage: str
    owner: str  # names this checkout and its machine
    folder: str  # of the search, absolute
    search: str  # names its run in MLflow, which gets one below it for each trial
    metric: str  # of Scores, without validation/
    direction: Direction
    num_trials: int
    deadline: float | None  # seconds since 1970, after which no trial begins
    seed: int | None = None  # of the sampler; differs among workers
    share: int = 0  # the trials that this worker runs
    winner: Mapping[str, Any] | None = None  # its values, where it is repeated


def name_study(
    params: Params, task: Task[Params], candidate: str, metric: str, folder: Path
) -> str:
    """Name a study by all that its scores and values follow from.

    The values of keys that are searched are left out: `--apply` changes them, and the study goes
    on. A change of code, data, or of any other value begins another one.
    """
    space = read_space(params, candidate)
    fixed = params.candidates[candidate].model_dump(mode="json", exclude=set(space))
    facts = {
        "task": task.name,
        "fixed": fixed,
        "space": {key: dimension.model_dump() for key, dimension in space.items()},
        "training": params.training.model_dump(mode="json"),
        "seed": params.seed,
        "metric": metric,
        "examples": digest_path(folder / EXAMPLES),
        "code": digest_code(task.name),
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return f"{params.registry.model}/{candidate}/{digest[:16]}"


def find_direction(metric: str, task: Task[Params]) -> Direction:
    """Return the direction of the task's metric, or of another one by its name."""
    if metric == task.metric.name:
        return "maximize" if task.metric.higher_is_better else "minimize"
    is_loss = any(word in metric.split("_") for word in LOWER_IS_BETTER)
    return "minimize" if is_loss else "maximize"
