"""Compile the libraries of later stages beside the first ones, on a core that these leave idle.

After an installation Python compiles each module where it is first imported: 20 seconds of a run
that takes minutes. Later runs find them compiled, and start nothing.
"""

import fcntl
import logging
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

log = logging.getLogger(__name__)
MODULE = "plumbline.pipeline_run.compiling"
STARTED: list[subprocess.Popen[bytes]] = []
# In the order in which stages ask for them. Each is imported by a process of its own, for memory.
LIBRARIES = (
    "great_expectations",
    "sklearn.svm",
    "torch.export",
    "transformers.models.bert.modeling_bert",
    "onnxscript",
    "mlflow.pyfunc",
)


def start() -> None:
    """Start a process of the lowest priority that compiles, unless there is one or no need of it.

    It holds a lock on the folder of the libraries as long as it lives.
    """
    if sys.dont_write_bytecode or all(map(is_compiled, LIBRARIES)):
        return
    folder = os.open(sysconfig.get_path("purelib"), os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE, *LIBRARIES],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
            pass_fds=[folder],
        )
        STARTED.append(process)  # Python warns of one that is forgotten while it is at work
    except OSError:
        log.debug("no process that compiles", exc_info=True)
    finally:
        os.close(folder)


def compile_all(libraries: Sequence[str]) -> None:
    """Import each library that is not compiled; one that fails says so in its stage."""
    for name in libraries:
        if not is_compiled(name):
            statement = f"import {name}"
            command = [sys.executable, "-P", "-W", "ignore", "-c", statement, MODULE]
            subprocess.run(command, check=False)


def is_compiled(name: str) -> bool:
    """Whether a library is compiled, is absent, or is where this user can write nothing."""
    spec = find_spec(name.partition(".")[0])  # of what is below it, Python would import this one
    if spec is None or spec.cached is None or spec.origin is None:
        return True
    return Path(spec.cached).exists() or not os.access(Path(spec.origin).parent, os.W_OK)


if __name__ == "__main__":
    os.nice(19)
    compile_all(sys.argv[1:])
