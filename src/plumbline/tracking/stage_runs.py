"""A stage as a run of MLflow: recorded while it works, and brought there at its end."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from plumbline.contract.errors import RefusedError
from plumbline.contract.params import Params
from plumbline.process import ranks
from plumbline.sources.addresses import hide_secrets_in_text
from plumbline.tracking import delivery, records
from plumbline.tracking.records import FAILED, FINISHED, KILLED, RUNNING, RunFacts

Describe = Callable[[str], RunFacts | None]  # of a run that has some status
UNRECORDED = (OSError, ValueError, LookupError, TypeError)  # of files that are not as expected
log = logging.getLogger(__name__)


@contextmanager
def track_stage(
    params: Params, stage: str, candidate: str | None, describe: Describe
) -> Iterator[None]:
    """Record the block as a run of a stage, and bring it to MLflow unless another process does.

    `describe` reads the facts of a run from files; None where it is not to be tracked. The run is
    FINISHED at a normal end and after a refusal, KILLED after a signal, and FAILED after an error.
    Nothing fails because of it. Of processes that train together, the first one writes for all.
    """
    if not (ranks.is_main() and delivery.is_on()):
        yield
        return
    record = _begin(params, stage, candidate, describe)
    if record is None:
        yield
        return
    try:
        yield
    except BaseException as error:
        _end(record, describe, error)
        raise
    _end(record, describe, None)


def _begin(
    params: Params, stage: str, candidate: str | None, describe: Describe
) -> records.RunRecord | None:
    try:
        facts = describe(RUNNING)
        return records.begin(params, stage, candidate, facts) if facts else None
    except UNRECORDED as error:
        log.warning("this run is not tracked (%s)", error)
        return None


def _end(record: records.RunRecord, describe: Describe, error: BaseException | None) -> None:
    status, reason = FINISHED, ""
    if error is not None and not isinstance(error, RefusedError):  # register did what it has to do
        status = FAILED if isinstance(error, Exception) else KILLED
        reason = hide_secrets_in_text(f"{type(error).__name__}: {error}")
    try:
        record.end(status, describe(status) or record.facts, reason)
    except UNRECORDED as problem:
        log.warning("tracking stopped (%s); the run goes on", problem)
        return
    if not delivery.is_delivered_by_another():
        delivery.deliver().warn()
