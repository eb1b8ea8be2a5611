"""A command that is named by a variable of the environment."""

import os
import shlex
import shutil

from plumbline.contract.errors import ParamsError


def read_command(variable: str) -> list[str]:
    """Return the words of the command in `variable`; none where it is not set or empty.

    Raises ParamsError for what is not a command line, or cannot be run.
    """
    try:
        command = shlex.split(os.environ.get(variable, ""))
    except ValueError as error:
        raise ParamsError(f"{variable}: not a command line ({str(error).lower()})") from None
    if command and shutil.which(command[0]) is None:
        raise ParamsError(
            f"{variable}: {command[0]} cannot be run (No such file, or it is not executable); "
            "install it, or name another command"
        )
    return command
