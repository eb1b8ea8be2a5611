"""What DVC logs of files that it could not copy: the reasons, without its tracebacks."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from plumbline.sources.addresses import hide_secrets_in_text

LOGGERS = ("dvc_data.hashfile.transfer", "dvc_objects.fs.generic")


@contextmanager
def collect_reasons() -> Iterator[list[str]]:
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
