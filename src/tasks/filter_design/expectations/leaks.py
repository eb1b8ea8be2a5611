"""What the leakage gate asks: does a held-out split repeat specifications of an earlier one?

Two are nearly equal if all their numbers differ by less than 1 %. Series and the problem itself
repeat by decades, so a copy at ten times the frequency or impedance counts as well.
"""

import math
from pathlib import Path

import numpy as np

from plumbline.contract.records import Leak
from plumbline.contract.task import SPLITS
from tasks.filter_design.data import Specification, name_rows, read_specifications
from tasks.filter_design.params import FilterParams

MAX_EXAMPLES = 5
NEAR = math.log(1.01)  # on logarithms of all numbers
DECADE = math.log(10.0)
NUM_BY_DECADES = 2  # of a row's numbers: the first edge and the impedance


def find_leaks(params: FilterParams, examples: Path) -> list[Leak]:
    """Count held-out specifications that an earlier split has, exactly or nearly."""
    exact, near = find_repeats(examples), find_neighbours(examples)
    leaks = []
    for split in SPLITS[1:]:
        num_rows = len(read_specifications(examples, split))
        own = {name: before for (of, name), before in exact.items() if of == split}
        leaks.append(Leak("exact", split, len(own), num_rows, _show(own)))
        others = {name: before for (of, name), before in near.items() if of == split}
        others = {name: before for name, before in others.items() if name not in own}
        leaks.append(Leak("near", split, len(others), num_rows, _show(others)))
    return leaks


def find_repeats(examples: Path) -> dict[tuple[str, str], str]:
    """Return the earlier split that has the same specification, by (split, id)."""
    earlier: dict[str, str] = {}  # digest -> split
    repeats = {}
    for split in SPLITS:
        specifications = read_specifications(examples, split)
        names = name_rows(split, len(specifications))
        for name, one in zip(names, specifications, strict=True):
            if one.digest in earlier:
                repeats[split, name] = earlier[one.digest]
        for one in specifications:
            earlier.setdefault(one.digest, split)
    return repeats


def find_neighbours(examples: Path) -> dict[tuple[str, str], str]:
    """Return the row of an earlier split that is nearly the same, by (split, id)."""
    from scipy.spatial import cKDTree

    earlier: dict[tuple[object, ...], list[tuple[str, np.ndarray]]] = {}
    neighbours = {}
    for split in SPLITS:
        own = _group_rows(split, read_specifications(examples, split))
        for group, rows in own.items():
            before = earlier.get(group, [])
            if before:
                known = np.stack([numbers for _, numbers in before])
                tree = cKDTree(known, boxsize=_list_periods(known.shape[1]))
                query = np.stack([numbers for _, numbers in rows])
                distances, places = tree.query(query, p=np.inf)
                for (name, _), distance, place in zip(rows, distances, places, strict=True):
                    if distance < NEAR:
                        neighbours[split, name] = before[place][0]
        for group, rows in own.items():
            earlier.setdefault(group, []).extend(rows)
    return neighbours


def _group_rows(
    split: str, specifications: list[Specification]
) -> dict[tuple[object, ...], list[tuple[str, np.ndarray]]]:
    """Group rows by what is not a number: kind, order and series."""
    groups: dict[tuple[object, ...], list[tuple[str, np.ndarray]]] = {}
    names = name_rows(split, len(specifications))
    for name, one in zip(names, specifications, strict=True):
        key = (one.kind, one.order, one.series)
        groups.setdefault(key, []).append((name, _list_numbers(one)))
    return groups


def _list_numbers(one: Specification) -> np.ndarray:
    """Return logarithms of all numbers: edges relative to the first, which is taken by decades."""
    first = one.pass_hz[0]
    edges = [edge / first for edge in (*one.pass_hz[1:], *one.stop_hz)]
    losses = [one.max_loss_db, one.min_attenuation_db, one.q_inductor, one.q_capacitor]
    logs = np.log([first, one.z0_ohm, *edges, *losses])
    logs[:NUM_BY_DECADES] %= DECADE
    logs[:NUM_BY_DECADES] %= DECADE  # of a little less than 0 the rest is rounded to a decade
    return logs


def _list_periods(num_numbers: int) -> np.ndarray:
    """Return after what each logarithm repeats (0: never): 9.99 MHz is next to 1 MHz."""
    periods = np.zeros(num_numbers)
    periods[:NUM_BY_DECADES] = DECADE
    return periods


def _show(leaked: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{name} (as {before})" for name, before in list(leaked.items())[:MAX_EXAMPLES])
