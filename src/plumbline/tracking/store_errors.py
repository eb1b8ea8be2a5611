"""What MLflow and the clients of its stores raise: told from other errors, said in one line."""

import re

from plumbline.sources.addresses import hide_secrets_in_text

# Packages that open databases, servers, and s3://, gs:// or az:// for MLflow: each raises its own.
CLIENTS = (
    "mlflow", "sqlalchemy", "boto3", "botocore", "s3transfer", "azure", "google", "urllib3",
)  # fmt: skip
AUTOFLUSH = "(raised as a result of Query-invoked autoflush"
LOCKED = "database is locked"
MAX_LENGTH = 300  # characters
REQUEST = re.compile(r"API request to (\S+) failed with (?:timeout )?exception (.*)")
CAUSES = {  # of a request that MLflow gave up
    r"too many 429 error": "the server answers 429: it limits requests, wait before you ask again",
    r"too many (\d+) error responses": "the server answers {0}",
    r"[Rr]ead timed out|[Rr]ead operation timed out": "no answer in time",
    r"RemoteDisconnected|Connection reset|Broken pipe": "the connection ended before an answer",
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError": "the server is unreachable",
}


def is_store_error(error: Exception) -> bool:
    """Whether a store, its client or the system raised it, and not plumbline's own code."""
    if isinstance(error, OSError | ModuleNotFoundError):
        return True
    return type(error).__module__.partition(".")[0] in CLIENTS


def shorten_error(error: Exception) -> str:
    """Return what an error of MLflow or a store says, in one line without secrets of addresses.

    A stack trace may follow it, and SQLAlchemy may begin with advice for programmers.
    """
    lines = [line for line in str(error).splitlines() if not line.startswith(AUTOFLUSH)]
    lines = lines or [type(error).__name__]
    text = lines[0]
    if text.endswith(":"):  # two lines for each file that could not be copied follow
        text = ": ".join(line.strip("# ") for line in lines[1:3]) or text
    return _explain(hide_secrets_in_text(text))


def _explain(text: str) -> str:
    """Say what happened where an error names classes of Python, and a remedy that it does not."""
    if LOCKED in text:
        return (
            f"{LOCKED}: another process writes to it, or was stopped while it did; wait for that "
            "process, or end it (`fuser -v FILE` names it)"
        )
    request = REQUEST.search(text)
    if request:
        for pattern, words in CAUSES.items():
            cause = re.search(pattern, request[2])
            if cause:
                return f"{request[1]}: {words.format(*cause.groups())}"
    return text[:MAX_LENGTH]
