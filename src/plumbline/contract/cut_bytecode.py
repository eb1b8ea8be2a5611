"""A module's compiled copy (.pyc) that was cut off, over which every later import stumbles.

Python before 3.13 leaves one on a full disk, and so may a loss of power.
"""

import sys
from pathlib import Path
from types import TracebackType

READER = "_compile_bytecode"  # the function of importlib that reads the copy
UNREADABLE = (EOFError, TypeError, ValueError)  # of what is cut off, or holds zeros from there on


def remove_when_met() -> None:
    """Let a program that ends over such a copy remove it, and say so in place of a traceback."""
    show = sys.excepthook

    def remove_or_show(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        message = remove_cut_bytecode(error)
        if message is None:
            show(kind, error, traceback)
        else:
            print(f"{Path(sys.argv[0]).stem}: {message}", file=sys.stderr)  # noqa: T201  like any error

    sys.excepthook = remove_or_show


def remove_cut_bytecode(error: BaseException) -> str | None:
    """Remove the compiled copy that could not be read, and say so; None for any other error.

    A module without a source is kept: its compiled file is not a copy.
    """
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if not isinstance(error, UNREADABLE) or traceback is None:
        return None
    frame = traceback.tb_frame
    if frame.f_code.co_name != READER or frame.f_locals.get("source_path") is None:
        return None
    path = str(frame.f_locals["bytecode_path"])
    problem = f"{path}: cut off, as on a full disk"
    try:
        Path(path).unlink(missing_ok=True)
    except OSError as reason:
        return (
            f"{problem}; it cannot be removed ({reason.strerror}): remove it, or set "
            "PYTHONPYCACHEPREFIX to a folder that you may write to"
        )
    return f"{problem}; it was removed, run the same command again"
