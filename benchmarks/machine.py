"""On which machine a figure was measured."""

import platform
from pathlib import Path


def read_cpu_name() -> str:
    """Return the name of the CPU as Linux has it, else what Python knows."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
