"""What `plumbline selftest --drill` works on: support tickets as CSV, in a world that changes."""

import csv
import random
from collections.abc import Sequence
from pathlib import Path

from plumbline.tasks.text_classification.data.generated import COLUMNS, draw_ticket
from plumbline.tasks.text_classification.faults.fixture import FEATURES, PARAMS
from plumbline_selftest.protocol import SourceRow

TICKETS = Path("data/raw/tickets.csv")
MODEL = "ticket-router"
TOO_FEW_FEATURES = "max_features: 8"


def read_params() -> str:
    """Return the selftest's params.yaml with the CSV file as its source, and no first champion."""
    text = PARAMS.read_text(encoding="utf-8")
    text = text.replace("source: generated ", f"source: {TICKETS} ")
    text = text.replace("per_day: 1", "per_day: 2")  # drift, and labels that come back
    return text.replace(
        "{model: selftest, first_champion: true}",
        f"{{model: {MODEL}, first_champion: false, trial: paired}}",
    )


def read_poor_params() -> str:
    """Return the same with too few features for a useful model."""
    return read_params().replace(FEATURES, TOO_FEW_FEATURES)


def draw_rows(num_rows: int, seed: int, drift: float) -> list[SourceRow]:
    """Draw tickets from one random state; `drift` is the share from the later world."""
    rng = random.Random(seed)  # noqa: S311 - data for a drill, nothing secret
    rows: list[SourceRow] = []
    for _ in range(num_rows):
        ticket = draw_ticket(rng, drift)
        rows.append(dict(zip(COLUMNS, ticket.list_values(ticket.intent), strict=True)))
    return rows


def write_source(folder: Path, rows: Sequence[SourceRow]) -> None:
    """Write the tickets to the CSV file in the checkout in `folder`."""
    with (folder / TICKETS).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
