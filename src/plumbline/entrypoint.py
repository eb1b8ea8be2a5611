"""From a door in pipelines/ to one call of one stage: parameters checked first, errors told in a line."""

import argparse
import fcntl
import importlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.params import Params, nearest, read
from plumbline.contract.task import Task

LOCK = Path(".plumbline/lock")
OF_A_CANDIDATE = ("train", "control")  # stages that run once for each
INTERRUPTED, TERMINATED = 130, 143
AGAIN_S = 0.05
# How long an OpenMP thread spins before it sleeps. By default two trainings on two cores take 20 times as long as they
# should (benchmarks/threads.py): threads that spin keep those from running that they wait for.
THREADS = {"GOMP_SPINCOUNT": "3000"}


class Terminated(BaseException):
    """SIGTERM, raised like Ctrl-C so that temporary files are removed on the way out."""


def main(stage: str) -> int:
    """Run `stage` as params.yaml says and return the exit code; the name of a candidate follows some."""
    parser = argparse.ArgumentParser(
        prog=f"pipelines/{stage}.py", description=f"The {stage} stage."
    )
    if stage in OF_A_CANDIDATE:
        parser.add_argument("candidate", help="a key of `candidates` in params.yaml")
    arguments = parser.parse_args()
    heed_signals()
    for name, value in THREADS.items():
        os.environ.setdefault(name, value)
    try:
        params = load_params(layout.PARAMS)
        task = load_task(params.task)
        extra = [_candidate(params, arguments.candidate)] if stage in OF_A_CANDIDATE else []
        run = getattr(importlib.import_module(f"plumbline.stages.{stage}"), stage)
        with nullcontext() if _is_helper() else _alone(stage):
            run(params, task, *extra)
    except PlumblineError as error:
        print(f"{stage}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{stage}: interrupted; run the same command again to go on", file=sys.stderr)
        return INTERRUPTED
    except Terminated:
        print(f"{stage}: terminated; run the same command again to go on", file=sys.stderr)
        return TERMINATED
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return 0


def load_params(path: Path) -> Params:
    """Read and check `path` for the task that it names."""
    return read(path, _shape_of)


def load_task(name: str) -> Task:
    """The task of that name: `TASK` in its folder under tasks/."""
    task: Task = importlib.import_module(f"plumbline.tasks.{name}.task").TASK
    return task


def task_names() -> list[str]:
    """The tasks that have a folder under tasks/."""
    folder = Path(__file__).parent / "tasks"
    return sorted(path.parent.name for path in folder.glob("*/task.py"))


def _shape_of(name: str) -> type[Params]:
    if name not in task_names():
        hint = nearest(name, task_names()) or f"; known: {', '.join(task_names())}"
        raise ParamsError(f"{layout.PARAMS}: task: there is no task {name!r}{hint}")
    shape: type[Params] = importlib.import_module(f"plumbline.tasks.{name}.params").SHAPE
    return shape


def _candidate(params: Params, name: str) -> str:
    if name not in params.candidates:
        known = sorted(params.candidates)
        raise ParamsError(
            f"candidates.{name}: not in params.yaml{nearest(name, known) or '; known: ' + ', '.join(known)}"
        )
    return name


def _is_helper() -> bool:
    """Whether torchrun started this process beside the one that writes."""
    return os.environ.get("RANK", "0") != "0"


@contextmanager
def _alone(stage: str) -> Iterator[None]:
    """Hold a kernel lock, which goes with the process however it ends: no second stage writes to this checkout."""
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise PlumblineError(
                f"another stage is at work here ({file.read().strip()}); wait for it or stop it"
            ) from None
        file.truncate(0)
        file.write(f"{stage}, pid {os.getpid()}")
        file.flush()
        yield


def heed_signals() -> None:
    """Raise Terminated on SIGTERM; and let neither that nor Ctrl-C be lost in a callback, where Python drops them."""

    def terminate(signum: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    def dropped(found: "sys.UnraisableHookArgs") -> None:
        if not issubclass(found.exc_type, Terminated | KeyboardInterrupt):
            sys.__unraisablehook__(found)
            return
        kind = found.exc_type

        def again(signum: int, frame: FrameType | None) -> None:
            raise kind

        signal.signal(signal.SIGALRM, again)
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)

    signal.signal(signal.SIGTERM, terminate)
    sys.unraisablehook = dropped
