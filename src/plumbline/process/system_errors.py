"""What the operating system refused, in one line: the path, the error, and what to do."""

import errno
import os
import re

AGAIN = "then run the same command again"
_ACCESS = f"give this user the right to it (`ls -ld`, `id`), {AGAIN}"
_IN_THE_WAY = f"move away what is there, {AGAIN}"
_MEMORY = f"end other programs, raise the limit (`ulimit -v`), or lower batch_size, {AGAIN}"
REMEDIES = {
    errno.ENOSPC: f"free space on that disk (`df -h`), {AGAIN}",
    errno.EDQUOT: f"free some of your quota on that disk, {AGAIN}",
    errno.EIO: "the disk, or the network to it, fails (`dmesg` may say more); repair it, "
    "`plumbline doctor --full`, " + AGAIN,
    errno.EROFS: f"mount that file system so that it can be written, {AGAIN}",
    errno.EACCES: _ACCESS,
    errno.EPERM: _ACCESS,
    errno.EEXIST: _IN_THE_WAY,
    errno.ENOTDIR: f"a file is where a folder should be: {_IN_THE_WAY}",
    errno.EISDIR: f"a folder is where a file should be: {_IN_THE_WAY}",
    errno.ENOENT: "something removed it; `plumbline doctor` says what is missing, and the way back",
    errno.EMFILE: f"allow more open files (`ulimit -n 4096`), {AGAIN}",
    errno.ENOMEM: _MEMORY,
    errno.EAGAIN: "allow more processes (`ulimit -u`) and addresses (`ulimit -v`), or end other "
    f"programs, {AGAIN}",
    errno.EFBIG: f"allow larger files (`ulimit -f`), {AGAIN}",
}
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
# Libraries in Rust, Python and C++ put the number into the text of an exception of their own.
NUMBER = re.compile(r"\(os error (\d+)\)|\[[Ee]rrno (\d+)\]|Error code (\d+) \(")
SHORT_WRITE = re.compile(r"\d+ requested and \d+ written")  # NumPy drops the number
WORDS = {  # of SQLite, DuckDB, Python and the dynamic loader
    "database or disk is full": errno.ENOSPC,
    "No space left on device": errno.ENOSPC,
    "disk I/O error": errno.EIO,
    "attempt to write a readonly database": errno.EROFS,
    "can't start new thread": errno.EAGAIN,
    "failed to map segment from shared object": errno.ENOMEM,
}


def explain_system_error(error: BaseException) -> str | None:
    """Say what was refused, where and what to do; None for an error that is no such refusal."""
    number = find_errno(error)
    if number is None:
        return _shorten(error) if isinstance(error, OSError) else None
    name = errno.errorcode.get(number, str(number))
    message = f"{os.strerror(number).lower()} ({name})"
    path = getattr(error, "filename", None)
    if path is not None:
        message = f"{os.fsdecode(path)}: {message}" if isinstance(path, str | bytes) else message
    remedy = REMEDIES.get(number)
    return f"{message}; {remedy}" if remedy else message


def find_errno(error: BaseException) -> int | None:
    """Return the number of the system's error behind an exception; None without one."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return errno.ENOMEM
    text = str(error)
    for words, number in WORDS.items():
        if words in text:
            return number
    if SHORT_WRITE.fullmatch(text):
        return errno.ENOSPC
    match = NUMBER.search(text)
    return int(next(filter(None, match.groups()))) if match else None


def name_path(error: Exception, path: os.PathLike[str]) -> OSError | None:
    """Return the system's error with the path that it is about; None for any other error."""
    number = find_errno(error)
    return OSError(number, os.strerror(number), os.fspath(path)) if number is not None else None


def _shorten(error: BaseException) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return f"{type(error).__name__}: {lines[0][:200]}"
