"""A search in MLflow: one run for the search, below it one for each trial.

A trial leaves a record as a stage does; `plumbline tune`, which waits, brings it to MLflow.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from plumbline.contract.params import Params
from plumbline.tracking import records
from plumbline.tracking.delivery import is_on
from plumbline.tracking.records import FAILED, FINISHED, RunFacts, RunRecord

STAGE = "tune"


@contextmanager
def track_trial(search: str, name: str, params: Params, candidate: str) -> Iterator[RunRecord]:
    """Record a block as a run of a search; one that was killed goes on in its run.

    After an error it is FAILED, and says why. Nothing is written where nothing is tracked.
    """
    config = params.candidates[candidate].model_dump(mode="json")
    training = params.training.model_dump(mode="json")
    facts = RunFacts({"candidate": candidate, "seed": params.seed, "training": training} | config)
    model = params.registry.model
    above = f"{model} {STAGE} {candidate}"
    tags = records.describe_process(STAGE, candidate)
    started = records.read_clock_ms()
    record = RunRecord(name, STAGE, candidate, model, search, above, tags, started, facts=facts)
    if not is_on():
        yield record
        return
    curve = record.path.with_suffix(".csv")
    facts.add_curve(curve)
    record.write()
    try:
        yield record
    except Exception as error:
        record.end(FAILED, facts, f"{type(error).__name__}: {error}")
        raise
    else:
        record.end(FINISHED, facts)
    finally:
        curve.unlink(missing_ok=True)
