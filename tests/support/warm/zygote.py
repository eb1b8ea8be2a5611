"""What `multiprocessing` spawns, forked instead: for a program that is itself a fork.

A worker of `plumbline serve` is spawned: a fresh interpreter would import all libraries once more.
Before the program begins, it forks a child that waits (the zygote). Each worker is forked from
there, so it has the libraries and nothing of what the program did since. It is a child of the
program, with the files that the program gives it and no others, as if it had been spawned.
"""

import ctypes
import json
import multiprocessing.util
import os
import resource
import signal
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SET_NAME, SET_CHILD_SUBREAPER = 15, 36  # of prctl(2)
NAME = b"spawn_main"  # of a worker, by which tests know it
MAX_REQUEST, MAX_FILES = 1 << 20, 100


def fork_zygote(request: dict[str, Any]) -> dict[str, Any]:
    """Fork the zygote and return `request`; return in each worker what that is to run."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    program = os.getpid()
    if os.fork() == 0:
        here.close()
        return wait_for_work(there, program)
    there.close()
    spawn = multiprocessing.util.spawnv_passfds

    def spawn_or_fork(path: bytes | str, arguments: Sequence[str], files: Sequence[int]) -> int:
        if "--multiprocessing-fork" not in arguments:  # the tracker of resources
            return spawn(path, arguments, files)
        work = {
            "what": arguments[list(arguments).index("-c") + 1],
            "numbers": list(files),
            "environment": dict(os.environ),
            "folder": str(Path.cwd()),
            "num_files": resource.getrlimit(resource.RLIMIT_NOFILE),
        }
        socket.send_fds(here, [json.dumps(work).encode()], list(files))
        return int(here.recv(32))

    multiprocessing.util.spawnv_passfds = spawn_or_fork
    return request


def wait_for_work(there: socket.socket, program: int) -> dict[str, Any]:
    """Fork for each message until the program has ended; return, in a worker, what to run."""
    while True:
        message, files, _, _ = socket.recv_fds(there, MAX_REQUEST, MAX_FILES)
        if not message:
            os._exit(0)
        between = os.fork()
        if between == 0:
            worker = os.fork()
            if worker:
                # Its parent is now the program, the nearest one that adopts.
                there.send(str(worker).encode())
                os._exit(0)
            while os.getppid() != program:
                if not Path(f"/proc/{program}").exists():
                    os._exit(0)
                time.sleep(0.001)
            there.detach()  # its number may become that of a file that was given
            return become_worker(json.loads(message), files)
        os.waitpid(between, 0)
        for file in files:
            os.close(file)


def become_worker(work: dict[str, Any], files: Sequence[int]) -> dict[str, Any]:
    """Have the files that were given, under their numbers, and no others; return what to run."""
    ctypes.CDLL(None).prctl(SET_NAME, NAME)
    signal.set_wakeup_fd(-1)
    beyond = max([*files, *work["numbers"]]) + 1
    for place, file in enumerate(files):
        os.dup2(file, beyond + place)
    os.closerange(3, beyond)
    for place, number in enumerate(work["numbers"]):
        os.dup2(beyond + place, number)
    os.closerange(beyond, beyond + len(files))
    resource.setrlimit(resource.RLIMIT_NOFILE, work["num_files"])
    program = {"kind": "-c", "what": work["what"], "arguments": ["--multiprocessing-fork"]}
    place = {"environment": work["environment"], "folder": work["folder"]}
    return program | place | {"safe_path": True, "warnings": []}
