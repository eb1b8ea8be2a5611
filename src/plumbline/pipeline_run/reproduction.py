"""`dvc repro` in this process, with its errors as errors."""

import errno
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from plumbline.contract.errors import PlumblineError
from plumbline.pipeline_run.stage_lines import StageError, announce_stages
from plumbline.process.system_errors import NO_SPACE, explain_system_error
from plumbline.sources.addresses import hide_secrets_in_text

log = logging.getLogger(__name__)
# Where DVC logs files that it could not copy.
LOGGERS = ("dvc_data.hashfile.transfer", "dvc_objects.fs.generic")
MAX_REASONS = 3  # as many files, as many reasons
# What a disk refuses; DVC goes on for a moment, and may end with what followed from it.
DISK_ERRORS = (*NO_SPACE, errno.EFBIG, errno.EIO, errno.EROFS)


@dataclass(frozen=True)
class RunRequest:
    """What DVC is asked for: the options of `dvc repro`."""

    targets: tuple[str, ...] = ()  # stages; none is all
    pull: bool = False
    force: bool = False
    single_item: bool = False


def reproduce(request: RunRequest) -> None:
    """Bring the outputs up to date.

    Raises StageError for a stage that failed, PlumblineError with DVC's own words for all else. A
    file that DVC could not copy, and could do without, is a warning.
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo
    from dvc.scm import SCMError

    logging.getLogger("dvc").setLevel(logging.ERROR)
    with _collect_reasons() as reasons:
        try:
            with Repo() as repo, announce_stages(repo, request) as reproduce_stage:
                repo.reproduce(
                    targets=list(request.targets) or None,
                    pull=request.pull,
                    force=request.force,
                    single_item=request.single_item,
                    repro_fn=reproduce_stage,
                )
        except (DvcException, SCMError) as error:
            raise _translate(error, reasons) from error
    for reason in reasons[:MAX_REASONS]:
        log.warning("DVC could not copy a file of its cache or of a remote: %s", reason)


@contextmanager
def _collect_reasons() -> Iterator[list[str]]:
    """Collect why files could not be copied, each reason once, in place of DVC's log.

    DVC goes on where it can; where it cannot, its error may name files and no reason.
    """
    reasons: list[str] = []

    def keep_reason(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return True
        reason = hide_secrets_in_text(" ".join(str(error).split()) or type(error).__name__)
        if reason not in reasons:
            reasons.append(reason)
        return False

    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(keep_reason)
    try:
        yield reasons
    finally:
        for logger in loggers:
            logger.removeFilter(keep_reason)


def _translate(error: Exception, reasons: Sequence[str]) -> Exception:
    """Return what happened: DVC's errors that say something, and why it could not copy a file."""
    from dvc.lock import LockError

    refusal = _find_disk_error(error)
    messages: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, StageError):
            return cause
        if refusal is None or not isinstance(cause, LockError):  # which suspects another process
            messages.append(_describe(cause))
        cause = cause.__cause__
    if refusal is not None:
        messages.append(_describe(refusal))
    said = " ".join(messages)
    messages += [reason for reason in reasons[:MAX_REASONS] if reason not in said]
    return PlumblineError(f"DVC stopped: {': '.join(dict.fromkeys(filter(None, messages)))}")


def _find_disk_error(error: Exception) -> OSError | None:
    """Find what a disk refused before DVC ended with another error."""
    context: BaseException | None = error
    while context is not None:
        if isinstance(context, OSError) and context.errno in DISK_ERRORS:
            return context
        context = context.__cause__ or context.__context__
    return None


def _describe(error: BaseException) -> str:
    """Return an error in a line, with the remedy that DVC does not name."""
    from dvc.exceptions import ConfirmRemoveError
    from dvc.rwlock import RWLockFileCorruptedError, RWLockFileFormatError

    line = " ".join(str(error).split())
    if isinstance(error, OSError) and error.errno in DISK_ERRORS:
        line = explain_system_error(error) or line
    if isinstance(error, ConfirmRemoveError):
        line = line.partition(" without a confirmation")[0]
        line += ", of which its cache has no copy; `plumbline run` without --pull makes it again"
    if isinstance(error, RWLockFileCorruptedError | RWLockFileFormatError):
        line += "; remove it (`rm .dvc/tmp/rwlock`) and run the same command again"
    return line
