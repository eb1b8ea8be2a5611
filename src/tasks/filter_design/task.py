"""The record of the task: what stages know of it before they import one of its parts."""

from pathlib import Path
from typing import Any

from plumbline.contract.task import Field, Metric, Param, Signature, Task
from tasks.filter_design.params import FilterParams

NUMBERS = {"type": "array", "items": {"type": "double"}}
DESIGN = {
    "topology": {"type": "string", "required": True},
    "order": {"type": "long", "required": True},
    "inductors_nh": {**NUMBERS, "required": True},
    "capacitors_pf": {**NUMBERS, "required": True},
    "margin_db": {"type": "double", "required": True},
    "yield_share": {"type": "double", "required": True},
    "calls": {"type": "long", "required": True},
}
EXAMPLE: dict[str, list[Any]] = {
    "kind": ["low-pass"],
    "pass_hz": [[3.0e7]],
    "stop_hz": [[5.0e7]],
    "max_loss_db": [1.0],
    "min_attenuation_db": [25.0],
    "order": [5.0],
    "z0_ohm": [50.0],
    "q_inductor": [80.0],
    "q_capacitor": [1000.0],
    "series": ["E24"],
}


def _change(**values: Any) -> dict[str, list[Any]]:
    """Return the example with other values."""
    return EXAMPLE | {name: [value] for name, value in values.items()}


TASK = Task[FilterParams](
    name="filter_design",
    package="tasks.filter_design",
    metric=Metric("met", higher_is_better=True, kind="binary", cost_unit="calls"),
    signature=Signature(
        inputs=(
            Field("kind", "string"),
            Field("pass_hz", NUMBERS),
            Field("stop_hz", NUMBERS),
            Field("max_loss_db", "double"),
            Field("min_attenuation_db", "double"),
            Field("order", "double", required=False),  # a column with gaps holds floats
            Field("z0_ohm", "double", required=False),
            Field("q_inductor", "double", required=False),
            Field("q_capacitor", "double", required=False),
            Field("series", "string", required=False),
        ),
        outputs=(
            Field("meets_spec", "boolean"),
            Field("possible", "boolean"),
            Field("attenuation_limit_db", "double"),
            Field("margin_db", "double"),
            Field("yield_share", "double"),
            Field("calls", "long"),
            Field("message", "string"),
            Field("netlist", "string"),
            Field("designs", {"type": "array", "items": {"type": "object", "properties": DESIGN}}),
            Field("frequency_hz", NUMBERS),
            Field("s21_db", NUMBERS),
            Field("picture", "string"),
        ),
        params=(
            Param("designs", "long", 3),
            Param("budget", "long", None),
            Param("rank", "string", "margin"),
            Param("draws", "long", 500),
        ),
    ),
    example=EXAMPLE,
    faulty={
        "an even order": _change(order=4),
        "edges of a band that do not ascend": _change(
            kind="band-pass", pass_hz=[5.0e7, 3.0e7], stop_hz=[2.0e7, 7.0e7], order=3
        ),
        "a stop edge inside the passband": _change(stop_hz=[2.0e7]),
        "no loss allowed": _change(max_loss_db=0.0),
        "a Q of 0": _change(q_inductor=0.0),
        "an unknown series": _change(series="E7"),
        "a missing edge": _change(stop_hz=[None]),
        "another column": {"specification": ["low-pass 30 MHz"]},
    },
    predictor=Path(__file__).with_name("predictor"),
    requirements=("numpy", "safetensors", "threadpoolctl"),
)
