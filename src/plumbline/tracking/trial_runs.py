"""A search in MLflow: one run for the search, below it one for each trial.

They take the way of the stages: a spool on disk, from which a process of its own delivers.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plumbline.contract.params import Params
from plumbline.tracking import spool
from plumbline.tracking.context import describe_context
from plumbline.tracking.processes import identify_process
from plumbline.tracking.run_log import SWITCH, RunLog

STAGE = "tune"


def open_search(params: Params, candidate: str, study: str, home: Path) -> Path | None:
    """Return the folder of a search in the spool; None where nothing is tracked.

    A search that was cut off goes on in its folder. `home` is where its trials are.
    """
    if os.environ.get(SWITCH) == "off":
        return None
    for folder, facts in spool.list_open_passes(home):
        if facts.get("identity") == study:
            return folder
        close_search(folder)
    try:
        return _create_folder(params, candidate, study, home)
    except OSError as error:
        logging.getLogger(__name__).warning("this search is not tracked (%s)", error)
        return None


def close_search(folder: Path | None) -> None:
    """Record that nothing more comes; a folder that holds nothing goes."""
    if folder is None or not folder.exists():
        return
    if not spool.list_runs(folder):
        (folder / spool.PASS).unlink(missing_ok=True)
        folder.rmdir()
        return
    spool.write_closed(folder, is_complete=True)


@contextmanager
def track_trial(folder: str | None, name: str, candidate: str) -> Iterator[RunLog]:
    """Track a block as a run of a search; one that was killed goes on in its run.

    After an error it is FAILED, and says why.
    """
    if folder is None or not Path(folder).exists():
        yield RunLog()
        return
    run = _open_run(Path(folder), name, candidate)
    with spool.open_events(run) as file:
        log = RunLog(run, file)
        try:
            yield log
        except Exception as error:
            log.set_tag("plumbline.end", f"{type(error).__name__}: {error}"[:500])
            log.end("FAILED")
            raise
        log.end("FINISHED")


def _create_folder(params: Params, candidate: str, study: str, home: Path) -> Path:
    folder = spool.create_folder()
    facts = {
        "name": f"{params.registry.model} {STAGE} {candidate}",
        "identity": study,
        "folder": str(home),
        "model": params.registry.model,
        "experiment": "",
        "tags": describe_context(),
        "by_dvc": False,
        "time": spool.read_clock_ms(),
        "process": identify_process(os.getpid()),
    }
    spool.write_record(folder / spool.PASS, facts)
    return folder


def _open_run(folder: Path, name: str, candidate: str) -> spool.SpooledRun:
    process = {"process": identify_process(os.getpid())}
    for run in spool.list_runs(folder):
        facts = run.describe()
        if facts["name"] == name and run.find_status() is None:
            spool.write_record(run.folder / spool.RUN, facts | process)
            return run
    return spool.add_run(folder, name, {"stage": STAGE, "candidate": candidate} | process)
