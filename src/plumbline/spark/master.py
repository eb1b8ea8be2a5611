"""What can be said of Spark and its master before it is started, and what of its errors after."""

import importlib.util
import os
import re
import shutil
import socket

from plumbline.contract.errors import ParamsError

CONFIGURED = "spark"  # the master that Spark itself is configured with
MASTER = re.compile(r"spark|local(\[[\d*]+(,\d+)?\])?|spark://[^/]+:\d+|yarn|k8s://.+")
CONNECT_TIMEOUT_S = 5.0
NAMED_ERROR = re.compile(r"(Caused by: )?[\w.]+(Error|Exception): ")
MAX_REASON = 500  # characters


def check_master(master: str, place: str, without: str) -> None:
    """Raise ParamsError for what Spark itself would say late, or at length.

    `place` says where the master was named, such as `--on spark`, and `without` what to write there
    to do without Spark.
    """
    if not MASTER.fullmatch(master):
        raise ParamsError(
            f"{place}: unknown; expected {without}, spark, local[4], spark://host:7077, yarn or "
            "k8s://..."
        )
    if importlib.util.find_spec("pyspark") is None:
        raise ParamsError(
            f"{place}: pyspark is not installed; install requirements-spark.lock "
            "(see `plumbline docs scale`)"
        )
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise ParamsError(
            f"{place}: no Java; install Java 17 or 21, or let JAVA_HOME name its folder"
        )
    if master.startswith("spark://"):
        _require_reachable(master, place)


def find_reason(message: str) -> str:
    """Return the line of an error of Spark that names the cause, below frames of Python or Java."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    named = [line for line in lines if NAMED_ERROR.match(line)]
    if named:
        return named[-1][:MAX_REASON]
    return lines[0][:MAX_REASON] if lines else "without a reason"


def _require_reachable(master: str, place: str) -> None:
    """Raise ParamsError where none of the master's addresses answers; others may be spares."""
    errors = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S).close()
        except (OSError, ValueError, OverflowError) as error:
            errors.append(f"{address}: {error}")
        else:
            return
    raise ParamsError(f"{place}: unreachable ({'; '.join(errors)}); is the master running?")
