"""Specifications and their designs as the arrays that networks learn from.

Shapes: M rows; K features; an arrangement has the inductor or the capacitor in the first branch.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from plumbline.contract.errors import DataError
from tasks.filter_design.data.storage import read_designs, read_inputs
from tasks.filter_design.predictor.ladder import NUM_PASS, NUM_STOP, TOPOLOGIES, Ladder
from tasks.filter_design.predictor.networks import (
    MAX_VALUES,
    NUM_COORDINATES,
    NUM_GROUPS,
    describe_ladder,
    encode,
    find_group,
)
from tasks.filter_design.predictor.rows import read_specs
from tasks.filter_design.predictor.series import TOLERANCES

ABSENT = -60.0  # log of a branch that a ladder does not have
Floats = NDArray[np.float32]
Values = TypeVar("Values")


class MaskRows(NamedTuple, Generic[Values]):
    """What the simulator in torch needs of M specifications, as arrays or tensors."""

    base: Values  # [M, MAX_VALUES] logs of the textbook's branches
    rising: Values  # [M, 2, MAX_VALUES] 1 / Q of the part that rises with frequency
    falling: Values  # [M, 2, MAX_VALUES] of the other part of a resonator
    points: Values  # [M, NUM_POINTS] of the mask, those of the passband first
    limits: Values  # [M, 2] max_loss_db, min_attenuation_db
    width: Values  # [M] of a band-pass, else 0
    step: Values  # [M] log of the ratio of neighbours in the series


class DesignRows(NamedTuple):
    """Specifications, a design of each, and whether it meets its mask."""

    features: Floats  # [M, K]
    groups: NDArray[np.int64]  # [M]
    coordinates: Floats  # [M, NUM_COORDINATES]
    used: Floats  # [M, NUM_COORDINATES] 1 where a coordinate has a meaning
    meets: NDArray[np.bool_]  # [M]
    masks: MaskRows[Floats]


@dataclass(frozen=True)
class Scales:
    """Means and deviations, of features and of each group's coordinates."""

    feature_mean: Floats
    feature_scale: Floats
    mean: Floats  # [NUM_GROUPS, NUM_COORDINATES]
    scale: Floats
    known: NDArray[np.bool_]  # [NUM_GROUPS] whether train has designs of the group

    def normalise(self, rows: DesignRows) -> tuple[Floats, Floats]:
        """Return features and coordinates with mean 0 and deviation 1."""
        features = (rows.features - self.feature_mean) / self.feature_scale
        coordinates = (rows.coordinates - self.mean[rows.groups]) / self.scale[rows.groups]
        return features.astype(np.float32), (coordinates * rows.used).astype(np.float32)

    def list_weights(self) -> dict[str, NDArray[np.generic]]:
        """Return what the predictor needs, by the names in its bundle."""
        return {
            "features.mean": self.feature_mean,
            "features.scale": self.feature_scale,
            "mean": self.mean,
            "scale": self.scale,
            "known": self.known,
        }


def read_rows(examples: Path, split: str) -> DesignRows:
    """Read one split; a ladder and its mirror image are the same filter, and both are rows."""
    specs = read_specs(read_inputs(examples, split))
    table = read_designs(examples, split)
    orders = table["order"].astype(int).tolist()
    ladders = [
        Ladder(replace(spec, order=order), order) for spec, order in zip(specs, orders, strict=True)
    ]
    topologies = [TOPOLOGIES.index(name) for name in table["topology"]]
    coordinates = [
        encode(ladder, np.array(ratios, dtype=float), topology)
        for ladder, ratios, topology in zip(ladders, table["ratios"], topologies, strict=True)
    ]
    return DesignRows(
        features=np.stack([describe_ladder(ladder) for ladder in ladders]).astype(np.float32),
        groups=np.array([find_group(ladder) for ladder in ladders]),
        coordinates=np.stack(coordinates).astype(np.float32),
        used=np.stack([_list_used(ladder) for ladder in ladders]).astype(np.float32),
        meets=table["meets"].to_numpy(dtype=bool),
        masks=build_masks(ladders),
    )


def select_rows(rows: DesignRows, chosen: NDArray[np.bool_]) -> DesignRows:
    """Return the rows that are `chosen` [M]."""
    columns: dict[str, Any] = rows._asdict()
    masks = MaskRows(*(values[chosen] for values in columns.pop("masks")))
    return DesignRows(**{name: values[chosen] for name, values in columns.items()}, masks=masks)


def add_mirrors(rows: DesignRows) -> DesignRows:
    """Return the rows, then each again with its ladder from load to source."""
    mirrored = rows.coordinates.copy()
    for row, group in enumerate(rows.groups):
        order = 3 if group == NUM_GROUPS - 1 else 3 + 2 * int(group)
        mirrored[row, :order] = rows.coordinates[row, :order][::-1]
        if group == NUM_GROUPS - 1:
            mirrored[row, order : 2 * order] = rows.coordinates[row, order : 2 * order][::-1]
    columns: dict[str, Any] = rows._asdict()
    masks = MaskRows(*(np.concatenate([values, values]) for values in columns.pop("masks")))
    twice = {name: np.concatenate([values, values]) for name, values in columns.items()}
    twice["coordinates"] = np.concatenate([rows.coordinates, mirrored])
    return DesignRows(**twice, masks=masks)


def measure_scales(rows: DesignRows) -> Scales:
    """Return means and deviations of train rows; raises DataError where there are none."""
    if not len(rows.groups):
        raise DataError("train: no design meets its mask; raise data.search_calls")
    mean = np.zeros((NUM_GROUPS, NUM_COORDINATES), np.float32)
    scale = np.ones((NUM_GROUPS, NUM_COORDINATES), np.float32)
    known = np.zeros(NUM_GROUPS, bool)
    for group in np.unique(rows.groups):
        own = rows.coordinates[rows.groups == group, :-1]  # the topology stays 1 or -1
        mean[group, :-1] = own.mean(axis=0)
        scale[group, :-1] = _measure_scale(own)
        known[group] = True
    feature_mean = rows.features.mean(axis=0, dtype=float).astype(np.float32)
    return Scales(feature_mean, _measure_scale(rows.features), mean, scale, known)


def build_masks(ladders: list[Ladder]) -> MaskRows[Floats]:
    """Return what the simulator needs of each ladder's specification."""
    dissipations = [_arrange_dissipations(ladder) for ladder in ladders]
    specs = [ladder.spec for ladder in ladders]
    limits = [(spec.max_loss_db, spec.min_attenuation_db) for spec in specs]
    widths = [ladder.width if ladder.per_branch > 1 else 0.0 for ladder in ladders]
    steps = [2 * np.log1p(TOLERANCES[spec.series]) for spec in specs]
    return MaskRows(
        base=_combine([_list_base(ladder) for ladder in ladders]),
        rising=_combine([rising for rising, _ in dissipations]),
        falling=_combine([falling for _, falling in dissipations]),
        points=_combine([_select_points(ladder) for ladder in ladders]),
        limits=np.array(limits, np.float32),
        width=np.array(widths, np.float32),
        step=np.array(steps, np.float32),
    )


def _list_used(ladder: Ladder) -> NDArray[np.float64]:
    used = np.zeros(NUM_COORDINATES)
    used[: ladder.num_parts] = 1
    used[-1] = 1
    return used


def _list_base(ladder: Ladder) -> NDArray[np.float64]:
    base = np.full(MAX_VALUES, ABSENT)
    logs = ladder.signs[0] * ladder.references[0]
    base[: ladder.order] = logs[:: ladder.per_branch]
    return base


def _arrange_dissipations(ladder: Ladder) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return 1 / Q of rising and falling parts [2, MAX_VALUES], inductor first, then capacitor."""
    topologies = [1, 0] if ladder.spec.kind == "high-pass" else [0, 1]
    rising = np.zeros((2, MAX_VALUES))
    falling = np.zeros((2, MAX_VALUES))
    shape = (2, ladder.order, ladder.per_branch)
    losses = ladder.dissipations[topologies].reshape(shape)
    if ladder.per_branch == 1:
        rising[:, : ladder.order] = losses[:, :, 0]
        return rising, falling
    is_rising = ladder.rising[topologies].reshape(shape)
    rising[:, : ladder.order] = (losses * is_rising).sum(axis=2)
    falling[:, : ladder.order] = (losses * (1 - is_rising)).sum(axis=2)
    return rising, falling


def _select_points(ladder: Ladder) -> NDArray[np.float64]:
    """Return every second point of the passband, and the stop edges (a single one twice)."""
    points = ladder.points if ladder.spec.kind != "high-pass" else 1 / ladder.points
    stops = points[[NUM_PASS, NUM_PASS + NUM_STOP if ladder.per_branch > 1 else NUM_PASS]]
    return np.concatenate([points[:NUM_PASS:2], stops])


def _measure_scale(values: Floats) -> Floats:
    scale = values.std(axis=0, dtype=float)  # in float32 a constant has a deviation, by rounding
    return np.where(scale < 1e-6, 1.0, scale).astype(np.float32)


def _combine(arrays: list[NDArray[np.float64]]) -> Floats:
    return np.stack(arrays).astype(np.float32)
