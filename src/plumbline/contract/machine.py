"""Which machine computed a result: recorded, and no decision depends on it."""

import platform
import sys
from pathlib import Path
from typing import Any

CPUINFO = Path("/proc/cpuinfo")  # Linux alone has it


def describe_machine() -> dict[str, Any]:
    """Return the name of the CPU, and what torch uses of it: instruction set and threads.

    Both are None in a process that does not use torch; it is not imported for this.
    """
    torch: Any = sys.modules.get("torch")
    return {
        "cpu": read_cpu_name(),
        "instruction_set": torch and torch.backends.cpu.get_cpu_capability(),
        "threads": torch and torch.get_num_threads(),
    }


def read_cpu_name() -> str:
    """Return the name of the CPU as Linux has it, else what Python knows."""
    lines = CPUINFO.read_text(encoding="utf-8").splitlines() if CPUINFO.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
