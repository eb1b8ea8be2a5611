"""What the warm Python of the selftest runs: it forks a clean process for each request.

It is not imported: warm_python.py passes its text to an isolated Python, in an empty folder, with
the environment of a clean process. Before the first fork it imports what clean_process.py imports;
nothing else of the checkout or of a model comes near it. A request is a line of JSON on stdin, the
exit status a line on stdout.
"""

import json
import os
import signal
import sys
import time
import traceback
from typing import Any

PAUSE_S = 0.005


def main() -> None:
    """Answer requests until stdin ends."""
    import mlflow.pyfunc  # noqa: F401
    import pandas  # noqa: F401

    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            run(request)
        print(json.dumps(wait(child, request["timeout_s"])), flush=True)  # noqa: T201  the answer


def run(request: dict[str, Any]) -> None:
    """Become the process that was asked for: its folder, environment, streams and program."""
    status = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number, stream in enumerate((nothing, nothing, log)):
            os.dup2(stream, number)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        sys.argv = ["-c", *request["arguments"]]
        exec(compile(request["program"], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
        status = 0
    except BaseException:  # noqa: BLE001  whatever a model raises
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def wait(child: int, timeout_s: float) -> int | None:
    """Return the exit status of a child; None where it did not end in time, and was killed."""
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(PAUSE_S)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


if __name__ == "__main__":
    main()
