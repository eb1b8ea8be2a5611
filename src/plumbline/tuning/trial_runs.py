"""A search in MLflow: one run for the search, below it one for each trial.

A trial leaves a record as a stage does; `plumbline tune`, which waits, brings it to MLflow.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plumbline.contract.params import Params
from plumbline.process.running import identify_process
from plumbline.tracking import records
from plumbline.tracking.context import describe_context
from plumbline.tracking.delivery import is_on
from plumbline.tracking.records import FAILED, FINISHED, RunFacts, RunRecord

STAGE = "tune"


def describe_search(params: Params, candidate: str, study: str) -> dict[str, Any] | None:
    """Describe the run of a search, which goes on with its study; None where nothing is tracked."""
    if not is_on():
        return None
    process = {records.PROCESS_TAG: identify_process(os.getpid())}
    return {
        "key": study,
        "name": f"{params.registry.model} {STAGE} {candidate}",
        "started": records.read_clock_ms(),
        "tags": describe_context() | process | {records.FOLDER_TAG: str(Path.cwd())},
    }


@contextmanager
def track_trial(
    whole: dict[str, Any] | None, name: str, params: Params, candidate: str
) -> Iterator[RunRecord]:
    """Record a block as a run of a search; one that was killed goes on in its run.

    After an error it is FAILED, and says why.
    """
    config = params.candidates[candidate].model_dump(mode="json")
    training = params.training.model_dump(mode="json")
    facts = RunFacts({"candidate": candidate, "seed": params.seed, "training": training} | config)
    model = params.registry.model
    tags = records.describe_process(STAGE, candidate)
    record = RunRecord(name, STAGE, candidate, model, whole or {}, tags, records.read_clock_ms())
    record.group = f"{STAGE}-{candidate}"
    record.facts = facts
    if whole is None:
        yield record
        return
    facts.add_curve(record.path.with_suffix(".csv"))
    record.write()
    try:
        yield record
    except Exception as error:
        record.end(FAILED, facts, f"{type(error).__name__}: {error}")
        raise
    record.end(FINISHED, facts)
