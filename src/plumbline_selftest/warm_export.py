"""A faster ONNX export: torch reads its operators once in a process; selftest exports 50 models.

Measured: to read the 500 operators takes more than half of the CPU time of an export.
"""

import functools
from typing import Any


def keep_operators() -> None:
    """Read the operators at the first export of this process, and keep them for the others.

    They depend on the opset alone. A torch without this private list exports as it always does.
    """
    try:
        from torch.onnx._internal.exporter import _registration
    except ImportError:
        return
    registry: Any = getattr(_registration, "ONNXRegistry", None)
    if hasattr(registry, "from_torchlib"):
        registry.from_torchlib = staticmethod(functools.cache(registry.from_torchlib))
