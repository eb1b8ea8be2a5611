"""The runs that stages log: each writes to the spool, and MLflow gets it from there.

Nothing here waits for MLflow, imports it, or fails because of it.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from plumbline.contract.dotted_keys import flatten
from plumbline.contract.errors import RefusedError
from plumbline.contract.params import Params
from plumbline.process import ranks
from plumbline.process.lineage import collect_lineage
from plumbline.sources.shown_params import hide_secrets_in_values
from plumbline.tracking import passes, spool, store_location
from plumbline.tracking.context import describe_context
from plumbline.tracking.dataset_facts import describe_dataset

SWITCH = "PLUMBLINE_TRACKING"
log = logging.getLogger(__name__)


class RunLog:
    """One run as a stage sees it; no method raises. Without a spooled run nothing is written."""

    def __init__(self, run: spool.SpooledRun | None = None, file: IO[bytes] | None = None) -> None:
        self._run = run
        self._file = file

    def log_params(self, values: Mapping[str, Any]) -> None:
        """Record parameters; nested ones under dotted keys, addresses without their secrets."""
        flat = {key: str(hide_secrets_in_values(value)) for key, value in flatten(values)}
        self._write("params", values=flat)

    def log_metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Record metrics at `step`."""
        floats = {key: float(value) for key, value in values.items()}
        self._write("metrics", values=floats, step=step)

    def log_model_metrics(self, values: Mapping[str, float], digest: str) -> None:
        """Record metrics with the model that a run of train logged of a bundle."""
        self._write("model metrics", values=dict(values), digest=digest)

    def set_tag(self, key: str, value: str) -> None:
        """Record a tag."""
        self._write("tags", values={key: value})

    def set_pass_facts(self, tags: Mapping[str, str], metrics: Mapping[str, float]) -> None:
        """Record what the whole pass is found by."""
        self._write("pass", tags=dict(tags), metrics=dict(metrics))

    def log_artifact(self, path: Path, folder: str = "") -> None:
        """Keep a file or a folder as it is now."""
        if self._run is None or not path.exists():
            return
        try:
            copied = spool.copy_file(self._run, path, folder)
        except OSError as error:
            _warn(str(error))
            return
        self._write("artifact", path=copied, folder=folder)

    def log_dataset(self, name: str, context: str) -> None:
        """Record the data that are here now; `context` is what they are for."""
        if self._run is None:
            return
        try:
            facts = describe_dataset(name)
        except (OSError, ValueError) as error:
            _warn(str(error))
            return
        self._write("dataset", context=context, **facts)

    def log_model(
        self, candidate: str, digest: str, facts: Mapping[str, Any], prefix: str = ""
    ) -> None:
        """Record a sealed bundle as a model of MLflow; the folder of its seal is an artifact.

        The names of its metrics begin with `prefix`.
        """
        flat = {key: str(value) for key, value in flatten(facts)}
        self._write("model", name=candidate, digest=digest, params=flat, prefix=prefix)

    @property
    def spooled(self) -> spool.SpooledRun | None:
        """Where the run is on disk; None where nothing is tracked."""
        return self._run

    def draw_learning_curve(self) -> None:
        """Ask for a figure of the metrics by epoch."""
        self._write("curve")

    def end(self, status: str) -> None:
        """Record how the run ended."""
        self._write("end", status=status)

    def _write(self, kind: str, **facts: Any) -> None:
        if self._file is None:
            return
        try:
            event = {"kind": kind, "time": spool.read_clock_ms()} | facts
            spool.write_event(self._file, event)
        except OSError as error:
            self._file = None
            _warn(str(error))


@contextmanager
def track_run(params: Params, stage: str, candidate: str | None = None) -> Iterator[RunLog]:
    """Track a block as a run of the present pass.

    It is FINISHED at a normal end, a refusal too, and FAILED after an error; both of these end the
    pass. Ctrl-C, SIGTERM or a kill leave it to be continued; until then it is KILLED. Of processes
    that train together, the first one writes for all.
    """
    if not ranks.is_main() or os.environ.get(SWITCH) == "off":
        yield RunLog()
        return
    with ExitStack() as stack:
        run_log = _open_run(stack, params, stage, candidate)
        run = run_log.spooled
        if run is None:
            yield run_log
            return
        _describe_start(run_log)
        _warn_if_away(run)
        try:
            yield run_log
        except Exception as error:
            is_refusal = isinstance(error, RefusedError)  # register did what it has to do
            run_log.end("FINISHED" if is_refusal else "FAILED")
            _close_pass(run, params, is_complete=False)
            raise
        _describe_output(run_log, stage, candidate)
        run_log.end("FINISHED")
        if stage == passes.LAST_STAGE:
            _close_pass(run, params, is_complete=True)


def _describe_start(run_log: RunLog) -> None:
    """Record where the run began: commit, user, digests. dvc.lock is not yet what it will be."""
    for key, value in describe_context().items():
        run_log.set_tag(key, value)
    try:
        lineage = collect_lineage()
    except OSError as error:
        _warn(str(error))
        return
    for key, value in lineage.items():
        if key != "dvc_lock":
            run_log.set_tag(f"plumbline.{key}", value)


def _describe_output(run_log: RunLog, stage: str, candidate: str | None) -> None:
    """Record the digest of what the stage wrote, by which a later pass finds this run."""
    try:
        output = passes.digest_output(stage, candidate)
    except OSError as error:
        _warn(str(error))
        return
    if output:
        run_log.set_tag("plumbline.output", output)


def _close_pass(run: spool.SpooledRun, params: Params, *, is_complete: bool) -> None:
    try:
        passes.close_pass(run.folder.parent, params, is_complete=is_complete)
    except (OSError, ValueError, LookupError) as error:
        _warn(str(error))


def _open_run(stack: ExitStack, params: Params, stage: str, candidate: str | None) -> RunLog:
    try:
        run = passes.open_run(params, stage, candidate)
        return RunLog(run, stack.enter_context(spool.open_events(run)))
    except (OSError, ValueError, LookupError) as error:
        _warn(str(error))
        return RunLog()


def _warn_if_away(run: spool.SpooledRun) -> None:
    """Warn once in a pass where nothing answers at MLflow's address."""
    marker = run.folder.parent / spool.WARNED
    if marker.exists():
        return
    problem = store_location.find_problem()
    if problem:
        with suppress(OSError):
            marker.touch()
        _warn(problem)


def _warn(reason: str) -> None:
    log.warning(
        "tracking stopped (%s); the run goes on, and what it logs waits in %s: the next run brings "
        "it to MLflow, or `plumbline track`",
        reason,
        spool.FOLDER,
    )
