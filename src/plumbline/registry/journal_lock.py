"""The lock under which decisions are made, and who makes them.

A waiter says who holds the lock, and does not wait for ever. It is the kernel's or PostgreSQL's,
and ends with the process that holds it.
"""

import logging
import os
import pwd
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.contract.errors import JournalError
from plumbline.process import locks

if TYPE_CHECKING:
    from sqlalchemy import Connection

# Any fixed number: it names plumbline's lock among those of a PostgreSQL database.
ADVISORY_LOCK = 7_104_811_225
NOTICE_S = 2.0  # after which a waiter says for whom it waits
TIMEOUT_S = 300.0  # longer than a decision takes, which tries the model that it is about
PAUSE_S = 0.05
HOLDER = """
SELECT application_name, date_trunc('second', backend_start)::text FROM pg_locks
JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND (classid::bigint << 32) + objid::bigint = :number
"""
log = logging.getLogger(__name__)


@contextmanager
def hold_file_lock(path: Path) -> Iterator[None]:
    """Hold the lock on `path`, in which it says who does. JournalError where nobody releases it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        _wait(
            lambda: locks.hold(file, wait=False),
            lambda: path.read_text(encoding="utf-8", errors="replace"),
        )
        with suppress(OSError):  # a full disk
            file.truncate(0)
            file.write(f"{_describe_holder()}, since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC")
            file.flush()
        yield


def take_database_lock(connection: "Connection") -> None:
    """Take the lock of a PostgreSQL database until the connection ends; JournalError as above."""
    from sqlalchemy import text

    def ask(query: str, **values: object) -> tuple[object, ...]:
        with connection.begin():  # the lock is the session's: it outlives this transaction
            row = connection.execute(text(query), values).first()
        return tuple(row) if row is not None else ()

    def attempt() -> bool:
        return ask("SELECT pg_try_advisory_lock(:number)", number=ADVISORY_LOCK) == (True,)

    def find_holder() -> str:
        return ", since ".join(map(str, ask(HOLDER, number=ADVISORY_LOCK)))

    ask("SELECT set_config('application_name', :name, false)", name=_describe_holder()[:63])
    _wait(attempt, find_holder)


def _wait(attempt: Callable[[], bool], find_holder: Callable[[], str]) -> None:
    start = time.monotonic()
    is_said = False
    while not attempt():
        waited = time.monotonic() - start
        if waited > TIMEOUT_S:
            raise JournalError(
                f"the journal's lock is held by {find_holder() or 'another process'}; waited "
                f"{waited:.0f} s, and nothing was decided. Wait for that process or stop it, then "
                "run the same command again"
            )
        if waited > NOTICE_S and not is_said:
            holder = find_holder() or "another process"
            log.warning("waiting for the journal's lock, held by %s", holder)
            is_said = True
        time.sleep(PAUSE_S)


def _describe_holder() -> str:
    words = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
    return f"pid {os.getpid()} on {socket.gethostname()} ({words})"


def find_actor() -> str:
    """Return user@host of this process; in a workflow also the login that it names, and the run.

    The user is the one that the system knows, whatever USER or LOGNAME say. What a workflow says
    comes from environment variables, which any process can set: the run number lets a reader check
    it on GitHub.
    """
    actor = f"{_find_user()}@{socket.gethostname()}"
    run = os.environ.get("GITHUB_RUN_ID", "")
    login = os.environ.get("GITHUB_TRIGGERING_ACTOR") or os.environ.get("GITHUB_ACTOR")
    if os.environ.get("GITHUB_ACTIONS") == "true" and login and run:
        actor += f" (says github:{login}, run {run})"
    return actor


def _find_user() -> str:
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # a container may run as a user without a name
        return f"uid{number}"
