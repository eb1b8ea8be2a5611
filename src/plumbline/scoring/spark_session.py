"""The session of Spark that a command uses, and what its errors say.

This module and `spark_engine` alone import pyspark. Executors need the same Python with plumbline.
"""

import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from plumbline.contract.errors import ParamsError, PlumblineError

CONFIGURED = "spark"  # the master that Spark itself is configured with
MASTER = re.compile(r"spark|local(\[[\d*]+(,\d+)?\])?|spark://[^/]+:\d+|yarn|k8s://.+")
NAMED_ERROR = re.compile(r"(Caused by: )?[\w.]+(Error|Exception): ")
MAX_REASON = 500  # characters


def check_master(master: str) -> None:
    """Raise ParamsError for a master that cannot be, or where Spark is not installed."""
    if not MASTER.fullmatch(master):
        raise ParamsError(
            f"--on {master}: unknown; expected here, spark, local[4], spark://host:7077, yarn or "
            "k8s://..."
        )
    if importlib.util.find_spec("pyspark") is None:
        raise ParamsError(
            f"--on {master}: pyspark is not installed; install requirements-spark.lock "
            "(see `plumbline docs score`)"
        )


@contextmanager
def open_session(master: str, name: str, remedy: str) -> Iterator[Any]:
    """Give the session of Spark; one that was started for this ends with the block.

    What Spark refuses, inside the block too, is a PlumblineError with the `remedy`.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Two attempts at one file at a time would be in each other's way.
    builder = SparkSession.builder.appName(name).config("spark.speculation", "false")
    if master != CONFIGURED:
        builder = builder.master(master)
    is_given = SparkSession.getActiveSession() is not None
    try:
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            if not is_given:
                session.stop()
    except (PySparkException, Py4JError) as error:
        raise PlumblineError(f"Spark failed ({find_reason(str(error))}); {remedy}") from None


def find_reason(message: str) -> str:
    """Return the line of an error of Spark that names the cause, below frames of Python or Java."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    named = [line for line in lines if NAMED_ERROR.match(line)]
    if named:
        return named[-1][:MAX_REASON]
    return lines[0][:MAX_REASON] if lines else "without a reason"
