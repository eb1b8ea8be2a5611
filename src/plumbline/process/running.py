"""Name a process so that no later one has its name: the system uses ids again."""

from pathlib import Path

PROC = Path("/proc")  # of Linux
BOOT = PROC / "sys/kernel/random/boot_id"


def identify_process(pid: int) -> str:
    """Return id, start and boot of a running process; empty where none has that id."""
    if BOOT.exists():
        start = _read_start(pid)
        return f"{pid} {start} {BOOT.read_text(encoding='utf-8').strip()}" if start else ""
    import psutil

    try:
        start = str(psutil.Process(pid).create_time())
    except psutil.Error:
        return ""
    return f"{pid} {start} {int(psutil.boot_time())}"


def is_running(identity: str) -> bool:
    """Whether the process that `identify_process` named is running still, on this boot."""
    pid = identity.partition(" ")[0]
    return pid.isdecimal() and identify_process(int(pid)) == identity


def _read_start(pid: int) -> str:
    """Read when a process began, in ticks since the boot, which no clock can set back."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return text.rpartition(")")[2].split()[19]
