"""Faults of any task: answers that are right while they are scored, and wrong in other calls."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.task import count_rows
from plumbline.evidence.gates.production import LONGEST_FACTOR
from plumbline.evidence.samples import NUM_GOLDEN
from plumbline_selftest.protocol import Fault, FaultSite

ODD = Path(__file__).with_name("odd_predictor.py")
NO_LIMIT_MS = 1000.0


def plant_odd(way: str) -> Callable[[FaultSite], None]:
    """Return what plants a predictor that is odd in this way, as if it were the task's own."""

    def plant(site: FaultSite) -> None:
        site.wrap_predictor(ODD, _build_config(site, way))

    return plant


def _plant_foreign(site: FaultSite) -> None:
    """Plant a predictor that is not the task's, and changes the judge while it is loaded."""
    site.plant_predictor(ODD, _build_config(site, "patches"))


def _plant_foreign_control(site: FaultSite) -> None:
    control = layout.name_control(site.candidate)
    site.plant_predictor(ODD, _build_config(site, "patches"), control)


def _plant_server(site: FaultSite) -> None:
    """Start a server that the predictor asks, and that the clean process must not reach."""
    server = socket.create_server(("127.0.0.1", 0))
    config = _build_config(site, "asks a server") | {"port": server.getsockname()[1]}
    threading.Thread(target=_accept_all, args=(server,), daemon=True).start()
    site.wrap_predictor(ODD, config)


def _accept_all(server: socket.socket) -> None:
    while True:
        server.accept()[0].close()


def _plant_slow_long(site: FaultSite) -> None:
    """Answer the longest input that the limits allow too late."""
    limit_ms = site.params.evaluation.budget.one_p95_ms or NO_LIMIT_MS
    predictor = bundle.load(layout.locate_bundle(site.candidate))
    longest = site.task.scoring.build_longest_input(predictor)
    config = {
        "longest": {name: str(list(values)) for name, values in longest.items()},
        "seconds": 1.5 * LONGEST_FACTOR * limit_ms / 1000,
    }
    site.wrap_predictor(ODD, _build_config(site, "is slow") | config)


def _build_config(site: FaultSite, way: str) -> dict[str, Any]:
    return {
        "way": way,
        "example": {name: list(values) for name, values in site.task.example.items()},
        "golden": _list_golden_rows(site) if way == "knows golden rows" else [],
        "folder": str(layout.locate_bundle(site.candidate)),
    }


def _list_golden_rows(site: FaultSite) -> list[dict[str, Any]]:
    columns = site.task.data.read_inputs(layout.EXAMPLES, "test")
    num_rows = count_rows(columns)
    picked = np.unique(np.linspace(0, num_rows - 1, min(NUM_GOLDEN, num_rows)).astype(int))
    return [{name: values[row] for name, values in columns.items()} for row in picked]


FAULTS = (
    Fault(
        "a predictor that is not the task's, and patches the judge",
        "predictor digest mismatch",
        "error",
        _plant_foreign,
    ),
    Fault(
        "a control with a predictor that is not the task's",
        "predictor digest mismatch",
        "error",
        _plant_foreign_control,
        needs_control=True,
    ),
    Fault(
        "a bundle that changes its files while it is scored",
        "digest mismatch",
        "error",
        plant_odd("changes files"),
    ),
    Fault(
        "a predictor that reads the test split in its folder",
        "replay",
        "refuse",
        plant_odd("needs data"),
    ),
    Fault(
        "a package that knows the golden rows alone",
        "replay",
        "refuse",
        plant_odd("knows golden rows"),
    ),
    Fault(
        "a model that is right in batches and wrong on single rows",
        "replay",
        "refuse",
        plant_odd("needs company"),
    ),
    Fault("wrong answers in one of 200 calls", "replay", "refuse", plant_odd("fails rarely")),
    Fault(
        "an answer that depends on its neighbours",
        "replay",
        "refuse",
        plant_odd("copies a neighbour"),
    ),
    Fault("a predictor that asks a server for answers", "replay", "refuse", _plant_server),
    Fault("a model that is slow on long inputs", "budget", "refuse", _plant_slow_long),
)
