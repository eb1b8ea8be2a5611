"""The figure that MLflow shows of a training: its metrics by epoch."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE_INCHES = (7, 4)
LINES = ("o-", "s--", "^:", "D-.")  # that can be told apart without colour


def draw_learning_curve(events: Iterable[Mapping[str, Any]]) -> "Figure | None":
    """Draw each loss by epoch; None where nothing was iterated."""
    curves: dict[str, dict[int, float]] = {}
    for event in events:
        if event["kind"] == "metrics" and event["step"] > 0 and event.get("model") is None:
            for name, value in event["values"].items():
                if name.endswith("loss"):
                    curves.setdefault(name, {})[event["step"]] = value
    if not curves:
        return None
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=SIZE_INCHES, layout="constrained")
    axes = figure.subplots()
    for number, (name, points) in enumerate(sorted(curves.items())):
        steps = sorted(points)
        values = [points[step] for step in steps]
        axes.plot(steps, values, LINES[number % len(LINES)], label=name)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    axes.legend()
    return figure
