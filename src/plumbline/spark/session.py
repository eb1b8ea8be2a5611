"""The session of Spark that a command uses."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from plumbline.contract.errors import PlumblineError
from plumbline.spark.master import CONFIGURED, find_reason


@contextmanager
def open_session(master: str, name: str, remedy: str) -> Iterator[Any]:
    """Give the session of Spark; one that was started for this ends with the block.

    What Spark refuses inside the block is a PlumblineError with the `remedy`.
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


def locate_file(name: str) -> str:
    """Return where an executor has a file that the command added to its session."""
    from pyspark import SparkFiles

    path: str = SparkFiles.get(name)
    return path


def locate_folder() -> str:
    """Return the folder of an executor for such files, which is removed with the session."""
    from pyspark import SparkFiles

    path: str = SparkFiles.getRootDirectory()
    return path
