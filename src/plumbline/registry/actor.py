"""Who decides: the system's user, and the person for whom a workflow says that it decides."""

import os
import pwd
import socket


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
