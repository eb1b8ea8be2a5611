"""A stage as a run of MLflow: recorded while it works, and brought there at its end.

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
from plumbline.sources.addresses import hide_secrets_in_text
from plumbline.tracking import delivery, records
from plumbline.tracking.records import FAILED, FINISHED, KILLED, RUNNING, RunFacts, RunRecord

Describe = Callable[[str], RunFacts | None]  # of a run that has some status
OPEN_PASS = Path(".plumbline/pass.json")
LAST_STAGE = "register"
log = logging.getLogger(__name__)


@contextmanager
def track_stage(
    params: Params, stage: str, candidate: str | None, describe: Describe
) -> Iterator[None]:
    """Record the block as a run of a stage, and bring it to MLflow unless `plumbline run` does.

    `describe` reads the facts of a run from files; None where it is not to be tracked. The run is
    FINISHED at a normal end and after a refusal, KILLED after a signal, and FAILED after an error.
    Nothing fails because of it. Of processes that train together, the first one writes for all.
    """
    record = None
    if ranks.is_main() and delivery.is_on():
        with _warn_of_files("this run is not tracked"):
            record = _begin(params, stage, candidate, describe(RUNNING))
    records.OWN.set(record)
    error = None
    try:
        yield
    except BaseException as caught:
        error = caught
        raise
    finally:
        records.OWN.set(None)
        if record:
            _end(record, describe, error)


def _begin(
    params: Params, stage: str, candidate: str | None, facts: RunFacts | None
) -> RunRecord | None:
    if facts is None:
        return None
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
    started = records.read_clock_ms()
    record = RunRecord(name, stage, candidate, model, key, words, tags, started, facts=facts)
    record.write()
    return record


def _join_pass(name: str, made_of: list[str]) -> str:
    """Return the key of the open pass, or of a new one where the run cannot be of that."""
    opened: dict[str, Any] = read_json(OPEN_PASS) if OPEN_PASS.exists() else {"made_of": None}
    if opened["made_of"] != made_of or name in opened["ended"]:
        key = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{token_hex(3)}"
        opened = {"key": key, "made_of": made_of, "ended": []}
        write_json(OPEN_PASS, opened)
    return str(opened["key"])


def _end(record: RunRecord, describe: Describe, error: BaseException | None) -> None:
    status, reason = FINISHED, ""
    if error is not None and not isinstance(error, RefusedError):  # register did what it has to do
        status = FAILED if isinstance(error, Exception) else KILLED
        reason = hide_secrets_in_text(f"{type(error).__name__}: {error}")
    with _warn_of_files("tracking stopped"):
        record.end(status, describe(status) or record.facts, reason)
        _note_end(record)
        if RUN_ID not in os.environ:
            delivery.deliver().warn()


@contextmanager
def _warn_of_files(what: str) -> Iterator[None]:
    """Let nothing fail where a file is not as expected."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError) as error:
        log.warning("%s (%s)", what, error)


def _note_end(record: RunRecord) -> None:
    """Note the end of a stage; one that was killed goes on in its run."""
    if record.status == FAILED or (record.stage == LAST_STAGE and record.status == FINISHED):
        OPEN_PASS.unlink(missing_ok=True)
    elif record.status == FINISHED:
        opened = read_json(OPEN_PASS)
        write_json(OPEN_PASS, opened | {"ended": [*opened["ended"], record.name]})
