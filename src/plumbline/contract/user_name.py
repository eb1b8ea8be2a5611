"""A name for a user whom the system does not know, as in a container with `docker -u 12345`."""

import getpass
import os


def ensure_user_name() -> None:
    """Set LOGNAME where the user has no name: DVC and MLflow ask for it, and end in a KeyError."""
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["LOGNAME"] = f"uid{os.getuid()}"
