"""Figures are whole, the same in every run, and draw the floor."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from tests.support.small_signals import small_params

from plumbline.contract.records import Candidate, Figure, Scores
from tasks.signal_extraction.scoring.figures import draw_figures


def candidate(name: str, history: bool) -> Candidate:
    samples = np.arange(1, 41)
    waves = {
        f"{kind} {f} Hz": np.sin(samples / 9 * f)
        for f in (1, 3, 5, 7)
        for kind in ("truth", "answer")
    }
    tables = {
        "by_sample": pd.DataFrame(
            {"sample": samples, "mse": 0.5 / samples, "floor": 0.3 / samples}
        ),
        "shown": pd.DataFrame({"seconds": samples / 1000, "mixture": np.sin(samples / 9)} | waves),
    }
    found = Scores({"mse": np.ones(3)}, {"mse": 1.0, "floor": 0.07}, tables)
    epochs = pd.DataFrame(
        {"epoch": [1, 2], "train/loss": [0.5, 0.4], "validation/loss": [0.5, 0.45]}
    )
    return Candidate(
        name, found, found, epochs if history else None, {"one_p50": 0.8, "one_p95": 1.2}, 1000
    )


def drawn(history: bool = True) -> list[Figure]:
    return draw_figures(small_params(), [candidate("film", history), candidate("fir", False)])


@pytest.mark.slow
def test_every_figure_is_well_formed_and_small() -> None:
    found = drawn()
    assert [figure.name for figure in found] == [
        "components",
        "by_sample",
        "learning",
    ]
    for figure in found:
        assert ElementTree.fromstring(figure.svg).tag.endswith("svg")  # noqa: S314  our own SVG
        assert len(figure.svg) < 300_000
        assert figure.caption
    for figure in found[1:3]:
        assert ">floor<" in figure.svg
    assert all(f">{label}<" in found[0].svg for label in ("1 Hz", "3 Hz", "5 Hz", "7 Hz"))
    assert [figure.name for figure in drawn(history=False)][-1] == "by_sample"


@pytest.mark.slow
def test_figures_repeat() -> None:
    assert [figure.svg for figure in drawn()] == [figure.svg for figure in drawn()]
