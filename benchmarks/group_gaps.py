"""How often the gate `groups` refuses, and a bare gap: `python benchmarks/outcomes.py --groups`."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from simulation import print_simulation

from plumbline.contract.params import Groups
from plumbline.contract.records import Scores
from plumbline.contract.task import Metric
from plumbline.evidence.gates.groups import check_groups

SIZES = np.array([400, 200, 100, 60, 40])
ROWS = pd.DataFrame({"label": "", "group": np.repeat(SIZES, SIZES)})
ASKED = Groups(columns=["group"], rate="error", max_gap=0.05, min_rows=50)
SHARE = 0.06  # of wrong answers of all groups
WORSE = ((0, SHARE), (3, 0.30), (2, 0.20), (1, 0.15))  # but of one
COLUMNS = ("errors of one of five groups", "gap > 0.05", "gap > 0.10", "gate [0.003]")


def measure_worse(worse: tuple[int, float], repeats: int) -> list[str]:
    """Return the cells of one row: how often each refuses."""
    random, errors = np.random.default_rng(0), np.full(SIZES.size, SHARE)
    errors[worse[0]] = worse[1]
    wrong = random.binomial(SIZES, errors, size=(repeats, SIZES.size))
    gaps = np.ptp(wrong / SIZES, axis=1)
    shares = np.mean([gaps > 0.05, gaps > 0.1, [is_refused(row) for row in wrong]], axis=1)
    return [f"{worse[1]:.2f} of {SIZES[worse[0]]} rows", *map("{:.4f}".format, shares)]


def is_refused(wrong: np.ndarray) -> bool:
    """Ask the gate itself; `wrong` are numbers of rows [groups]."""
    hits = [np.arange(size) >= own for size, own in zip(SIZES, wrong, strict=True)]
    scores = Scores({"accuracy": np.concatenate(hits).astype(float)}, {})
    question: Any = SimpleNamespace(
        limits=SimpleNamespace(groups=ASKED, confidence=0.95),
        metric=Metric("accuracy", higher_is_better=True, kind="binary"),
        table=SimpleNamespace(get_rows=lambda _: ROWS),
        best=SimpleNamespace(test=scores),
    )
    return check_groups(question).status == "fail"


def print_gaps() -> None:
    """Print how often each refuses."""
    print_simulation(str(__doc__), COLUMNS, measure_worse, WORSE, repeats=1_000)
