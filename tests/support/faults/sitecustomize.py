"""Ends or fails this process where PLUMBLINE_TEST_FAULT says: PLACE|PATTERN|ACTION.

PLACE is an audit event of Python, of which an argument has to match PATTERN, or `sql`, where a
statement for SQLite has to. ACTION is `kill`, or, for an event, an error such as ENOSPC.
Python imports this module at its start where the folder is in PYTHONPATH.
"""

import errno
import os
import re
import signal
import sqlite3
import sys
from typing import Any, NoReturn

PLACE, REST = os.environ["PLUMBLINE_TEST_FAULT"].split("|", 1)
PATTERN, ACTION = REST.rsplit("|", 1)


def strike() -> NoReturn:
    if ACTION == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    number = getattr(errno, ACTION)
    raise OSError(number, os.strerror(number))


def watch_statement(statement: str) -> None:
    if re.search(PATTERN, statement):
        strike()


def watch_event(event: str, arguments: tuple[Any, ...]) -> None:
    if event == PLACE and re.search(PATTERN, " ".join(map(str, arguments))):
        strike()


def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
    connection: sqlite3.Connection = CONNECT(*arguments, **options)
    connection.set_trace_callback(watch_statement)
    return connection


if PLACE == "sql":
    CONNECT = sqlite3.dbapi2.connect
    sqlite3.dbapi2.connect = connect  # what SQLAlchemy calls
else:
    sys.addaudithook(watch_event)
