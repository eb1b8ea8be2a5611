"""What the operating system refused, in one line: the path, the error, and what to do."""

import errno
import os

AGAIN = "then run the same command again"
_ACCESS = f"give this user the right to it (`ls -ld`, `id`), {AGAIN}"
_SPACE = f"free space on that disk (`df -h`), {AGAIN}"
REMEDIES = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EIO: f"the disk, or the network to it, fails (`dmesg` may say more); repair it, {AGAIN}",
    errno.EROFS: f"mount that file system so that it can be written, {AGAIN}",
    errno.EACCES: _ACCESS,
    errno.EPERM: _ACCESS,
    errno.ENOENT: "something removed it; `plumbline doctor` says what is missing, and the way back",
    errno.EMFILE: f"allow more open files (`ulimit -n 4096`), {AGAIN}",
    errno.ENOMEM: f"end other programs, or lower batch_size, {AGAIN}",
}
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
WORDS = {  # of SQLite, DuckDB, torch and Rust, whose exceptions have no number
    "database or disk is full": errno.ENOSPC,
    "No space left on device": errno.ENOSPC,
    "disk I/O error": errno.EIO,
    "attempt to write a readonly database": errno.EROFS,
    "can't allocate memory": errno.ENOMEM,
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
    return next((number for words, number in WORDS.items() if words in text), None)


def name_path(error: Exception, path: os.PathLike[str]) -> OSError | None:
    """Return the system's error with the path that it is about; None for any other error."""
    number = find_errno(error)
    return OSError(number, os.strerror(number), os.fspath(path)) if number is not None else None


def _shorten(error: BaseException) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return f"{type(error).__name__}: {lines[0][:200]}"
