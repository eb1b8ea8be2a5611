"""What `plumbline run` does before and after DVC: all that DVC does not notice, or does not say."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from plumbline.bundle import signatures
from plumbline.contract import layout
from plumbline.contract.errors import JournalError, ParamsError, RefusedError
from plumbline.contract.loading import load_params
from plumbline.pipeline_run.reproduction import RunRequest, reproduce
from plumbline.pipeline_run.stage_lines import StageError
from plumbline.process import dvc_lock
from plumbline.process.checkout_lock import lock_run
from plumbline.process.locked_packages import require_locked_versions
from plumbline.process.stop_signals import INTERRUPTED, TERMINATED, Terminated
from plumbline.registry import journal, local_files
from plumbline.tracking.delivery import deliver_meanwhile

KILLED = 137  # what a shell says of a stage that got SIGKILL
# What the system sends to a program that does what no program may, as a fault in a library does.
CRASHES = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV)
LAST = {"evaluate", "register"}  # the stages that ask for them
ALL = "dvc.yaml"  # as a target: all its stages


def run(request: RunRequest) -> int:
    """Check what DVC will read, and let it run; return the exit code.

    Nothing is started where params.yaml, dvc.yaml or dvc.lock cannot be read, a setting is missing
    or packages are not as locked (ParamsError), another process is at work here (BusyError), or the
    registry lost what the journal says is there (RegistryError). An error of DVC is raised as
    PlumblineError.
    """
    load_params(layout.PARAMS)
    require_locked_versions()
    require_settings(request.targets)
    with lock_run(), _pass_on_sigterm():
        dvc_lock.check_files()
        local_files.require_local_models()
        if request.force:
            layout.MEASURED_FACTS.unlink(missing_ok=True)  # all is measured again
        with deliver_meanwhile():
            try:
                reproduce(request)
            except StageError as failure:
                return _explain(failure)  # said before MLflow gets the rest, which takes seconds
        return 0


def _explain(failure: StageError) -> int:
    """Return the exit code of the stage that failed; its own lines say why, the last what to do."""
    stage, code = failure.stage, failure.code
    if code < 0:  # as DVC says that a signal ended it; from here on as a shell does
        code = 128 - code
    if code == KILLED:
        line = f"{stage} was killed; the same command continues where it was"
    elif code - 128 in CRASHES:
        line = (
            f"{stage} crashed ({signal.Signals(code - 128).name}): what failed is a library, or "
            "memory; `plumbline doctor` compares the installed packages with the locks"
        )
    elif code in (INTERRUPTED, TERMINATED):
        line = f"stopped at {stage} (exit code {code}); the same command continues there"
    elif code == RefusedError.exit_code:
        line = (
            "the model is refused, and no version was registered. Do what is said above of a gate, "
            "then run the same command again; `plumbline report` shows the scores"
        )
    else:
        line = (
            f"stopped at {stage} (exit code {code}), which says above why; correct that, then run "
            "the same command again: it continues there"
        )
    _report(line)
    return code


def _report(line: str) -> None:
    """Print why the run stopped."""
    print(f"run: {line}", file=sys.stderr, flush=True)  # noqa: T201 (what a person has to know)


@contextmanager
def _pass_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the stage, which then writes its checkpoint; without a stage, end here."""

    def terminate(signum: int, frame: FrameType | None) -> None:
        if not _terminate_stages():
            raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except (Terminated, KeyboardInterrupt) as error:
        is_terminated = isinstance(error, Terminated)
        word = "terminated" if is_terminated else "interrupted"
        _report(f"{word}; run the same command again to continue")
        sys.exit(TERMINATED if is_terminated else INTERRUPTED)
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate_stages() -> bool:
    """Send SIGTERM to the stage that DVC runs in this process; return whether there is one.

    The shell between them gets none: it would end, and the stage with it, before that has written
    its checkpoint.
    """
    import psutil

    stages = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "python" in process.name():
                process.send_signal(signal.SIGTERM)
                stages.append(process)
    return bool(stages)


def require_settings(targets: Sequence[str]) -> None:
    """Raise ParamsError where evaluate or register would miss a setting, hours later.

    `targets` are the stages that were asked for, as `evaluate` or `dvc.yaml:evaluate`; none is all.
    """
    stages = {target.rpartition(":")[2] for target in targets} or {ALL}
    if not stages & {*LAST, ALL}:
        return
    try:
        journal.find_journal_uri()
    except JournalError as error:
        raise ParamsError(str(error)) from None
    private_key = signatures.find_key("PLUMBLINE_PRIVATE_KEY")
    if private_key is not None:
        signatures.check_private_key(private_key)
    public_key = signatures.find_key("PLUMBLINE_PUBLIC_KEY")
    if public_key is not None:
        signatures.check_public_key(public_key)
