"""A stage as a run of MLflow: recorded while it works, and brought there.

It belongs to the open pass of the pipeline. A pass is open until `register` ends, a stage fails, a
stage that ended in it runs again, or the commit, params or experiment change.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from plumbline.contract.errors import RefusedError
from plumbline.contract.params import Params
from plumbline.process import ranks
from plumbline.process.checkout_lock import RUN_ID
from plumbline.process.files import read_json, write_json
from plumbline.process.lineage import collect_lineage
from plumbline.tracking import delivery, records
from plumbline.tracking.records import FAILED, FINISHED, KILLED, RUNNING, RunFacts, RunRecord

Describe = Callable[[str], RunFacts | None]  # of a run that ended in some way
OPEN_PASS = Path(".plumbline/pass.json")
LAST = "register"
log = logging.getLogger(__name__)


@contextmanager
def track_stage(
    params: Params, stage: str, candidate: str | None, describe: Describe
) -> Iterator[None]:
    """Record the block as a run of a stage, and bring it to MLflow unless `plumbline run` does.

    `describe` reads the facts of a run from files; None where it is not to be tracked. Nothing
    fails because of it. Of processes that train together, the first one writes for all.
    """
    record = None
    if ranks.is_main() and delivery.is_on():
        with _warn_of_files("this run is not tracked"):
            delivery.close_killed()
            record = _begin(params, stage, candidate)
            show_progress(record, describe(KILLED))
    if record is None:
        yield
        return
    records.OWN.set(record)
    try:
        with record_end(record, describe, RefusedError):  # register did what it has to do
            yield
    finally:
        records.OWN.set(None)
        with _warn_of_files("tracking stopped"):
            if record.status == FAILED or (stage == LAST and record.status == FINISHED):
                OPEN_PASS.unlink(missing_ok=True)
            elif record.status != KILLED:  # one that was killed goes on in its run
                opened = read_json(OPEN_PASS)
                write_json(OPEN_PASS, opened | {"ended": [*opened["ended"], record.name]})


def show_progress(record: RunRecord | None, facts: RunFacts | None) -> None:
    """Let MLflow show how far the run is, if it is tracked, where `plumbline run` waits."""
    if record and facts:
        with _warn_of_files("tracking stopped"):
            record.write(RUNNING, facts)


@contextmanager
def record_end(record: RunRecord, describe: Describe, good_end: type[Exception]) -> Iterator[None]:
    """Write the record at the end of the block, and bring it to MLflow.

    The run is FINISHED at a normal end and after `good_end`, FAILED after another error, which it
    repeats, and KILLED after a signal.
    """
    status, reason = KILLED, ""
    try:
        yield
        status = FINISHED
    except good_end:
        status = FINISHED
        raise
    except Exception as error:
        status, reason = FAILED, f"{type(error).__name__}: {error}"
        raise
    finally:
        with _warn_of_files("tracking stopped"):
            facts = describe(status)
            if facts and delivery.is_on():
                record.write(status, facts, reason)
                if status != KILLED and RUN_ID not in os.environ:
                    delivery.deliver().warn()


def _begin(params: Params, stage: str, candidate: str | None) -> RunRecord:
    name = f"{stage} {candidate}" if candidate else stage
    model = params.registry.model
    experiment = os.environ.get("DVC_EXP_NAME", "")
    tags = records.describe_process(stage, candidate)
    tags |= {f"plumbline.{key}": value for key, value in collect_lineage().items()}
    if experiment:
        tags["plumbline.dvc_experiment"] = experiment
    commit = tags.get("plumbline.git_commit", "")
    key = _join_pass(name, [commit, experiment, tags.get("plumbline.params", "")])
    words = " ".join(word for word in (model, commit[:7], experiment) if word)
    return RunRecord(name, model, key, words, tags)


def _join_pass(name: str, made_of: list[str]) -> str:
    """Return the key of the open pass, or of a new one where the run cannot be of that."""
    opened: dict[str, Any] = read_json(OPEN_PASS) if OPEN_PASS.exists() else {"made_of": None}
    if opened["made_of"] != made_of or name in opened["ended"]:
        key = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{token_hex(3)}"
        opened = {"key": key, "made_of": made_of, "ended": []}
        write_json(OPEN_PASS, opened)
    return str(opened["key"])


@contextmanager
def _warn_of_files(what: str) -> Iterator[None]:
    """Let nothing fail where a file is not as expected."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError) as error:
        log.warning("%s (%s)", what, error)
