"""What the packages beside the engine add: commands and routes, by the entry points of this wheel.

    [project.entry-points."plumbline.commands"]
    selftest = "plumbline_selftest.cli:app"

The engine imports none of these packages, so that each can be read, and left out, alone.
"""

from importlib.metadata import distribution
from typing import Any


def load_extensions(group: str) -> list[Any]:
    """Import and return what plumbline's entry points of `group` name, in their order."""
    points = distribution("plumbline").entry_points.select(group=group)
    return [point.load() for point in points]
