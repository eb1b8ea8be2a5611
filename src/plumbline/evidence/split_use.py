"""What an evaluation asks of the test split, as the ledger of looks counts it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.registry.journal_rules import NO_CHAMPION
from plumbline.registry.ledger import SplitUse, build_sketch

if TYPE_CHECKING:
    import pandas as pd


def describe_use(
    params: Params,
    task: Task[Params],
    manifest: "pd.DataFrame",
    champion: str | None,
    candidates: Mapping[str, str],
) -> SplitUse:
    """Describe the use of the test split that compares these bundles: candidates and champion.

    Every model whose test score is shown is part of the question; the same question asked again is
    not another use.
    """
    rows = manifest[manifest["split"] == "test"].astype(str)
    question = [
        *(candidates[name] for name in sorted(candidates)),
        champion or NO_CHAMPION,
        task.name,
        *sorted(rows["id"] + " " + rows["label"]),
    ]
    metric = params.evaluation.describe_metric()
    if metric:  # by another metric, the same models are another question
        question.append(json.dumps(metric, sort_keys=True))
    split = sorted(rows["id"] + " " + rows["digest"])
    limits = params.evaluation
    return SplitUse(
        _hash_lines(question),
        _hash_lines(split),
        f"{limits.planned_looks} uses at {limits.confidence:g}",
        # By what a row contains: a new file name, order or label makes no new split.
        sketch=build_sketch(rows["digest"]),
    )


def _hash_lines(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
