"""What statistics decide, for any task: sound models that they may not refuse, limits that bite."""

import shutil
from collections.abc import Callable
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.yaml_file import load_yaml
from plumbline_selftest.protocol import Fault, FaultSite

TWIN = "twin"
NO_GATE = "none"


def _plant_twin(site: FaultSite) -> None:
    """Add a candidate with the same answers; the sound one is the simple one, and has to win."""
    candidate = site.candidate
    folder = layout.locate_bundle(TWIN)
    shutil.copytree(layout.locate_bundle(candidate), folder)
    bundle.seal(folder, site.task, TWIN)
    values = load_yaml(layout.PARAMS)
    values["candidates"][TWIN] = values["candidates"][candidate]
    values["evaluation"]["simple_candidate"] = candidate
    _write_params(values)


def _edit_limits(**limits: Any) -> Callable[[FaultSite], None]:
    """Return what sets keys of `evaluation`."""

    def plant(site: FaultSite) -> None:
        values = load_yaml(layout.PARAMS)
        values["evaluation"] |= limits
        _write_params(values)

    return plant


def _write_params(values: dict[str, Any]) -> None:
    from ruamel.yaml import YAML

    writer = YAML(typ="safe", pure=True)
    writer.representer.ignore_aliases = lambda _: True
    with layout.PARAMS.open("w", encoding="utf-8") as file:
        writer.dump(values, file)


FAULTS = (
    Fault(
        "a simple candidate that is as good as the leader",
        NO_GATE,
        "promote",
        _plant_twin,
    ),
    Fault(
        "a gain over the baseline of less than params ask for",
        "baselines",
        "refuse",
        _edit_limits(min_gain_over_baseline=0.999),
    ),
    Fault(
        "groups too small for the loss that params ask about",
        "slices",
        "refuse",
        _edit_limits(max_slice_loss=0.0, max_undetectable_slice_loss=0.0001),
    ),
    Fault(
        "a better model where no worse one is allowed",
        NO_GATE,
        "promote",
        _edit_limits(champion={"policy": "not-worse", "margin": 0.0}),
    ),
)
