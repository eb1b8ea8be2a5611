"""Figures are complete, repeatable, and safe in a page whatever the classes are called."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from plumbline.contract.records import Candidate, Figure, Scores
from plumbline.contract.yaml_file import load_yaml
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.scoring import scores
from plumbline.tasks.text_classification.scoring.figures import draw_figures

ROOT = Path(__file__).parents[3]


def candidate(name: str, labels: list[str], accuracy: float, history: bool = True) -> Candidate:
    rng = np.random.default_rng(len(name))
    actual = np.array([labels[i % len(labels)] for i in range(600)], dtype=object)
    predicted = np.where(rng.random(600) < accuracy, actual, np.roll(actual, 1))
    hits, confidence = (actual == predicted).astype(float), rng.uniform(0.2, 1, 600)
    tables = {
        "confusion": pd.DataFrame({"actual": actual, "predicted": predicted}),
        "per_class": scores.compute_per_label(
            [(label,) for label in actual], [(label,) for label in predicted]
        ),
        "reliability": scores.compute_reliability(confidence, hits),
        "risk_coverage": scores.compute_risk_coverage(confidence, hits),
    }
    found = Scores({"accuracy": hits}, {"accuracy": float(hits.mean()), "ece": 0.1}, tables)
    epochs = pd.DataFrame(
        {"epoch": [0, 1, 2], "train/loss": [2, 1, 0.5], "validation/loss": [2, 1.5, np.nan]}
    )
    return Candidate(
        name, found, found, epochs if history else None, {"one_p50": 0.8, "one_p95": 1.2}, 1000
    )


def drawn(labels: list[str], history: bool = True) -> list[Figure]:
    params = TextParams.model_validate(load_yaml(ROOT / "recipes/text_classification.yaml"))
    return draw_figures(
        params,
        [candidate("minilm", labels, 0.9, history), candidate("linear", labels, 0.7, history)],
    )


@pytest.mark.slow
@pytest.mark.parametrize("num_classes", [2, 77])
def test_every_figure_is_well_formed_and_small(num_classes: int) -> None:
    found = drawn([f"class_{i}" for i in range(num_classes)])
    assert [f.name for f in found] == [
        "cost",
        "reliability",
        "risk_coverage",
        "learning",
        "confusion",
        "per_class",
    ]
    for figure in found:
        root = ElementTree.fromstring(figure.svg)  # noqa: S314  our own SVG
        assert root.tag.endswith("svg")
        assert len(figure.svg) < 300_000
        assert figure.title
        assert figure.caption


def test_ids_of_one_page_do_not_collide_and_nothing_is_fetched() -> None:
    ids = []
    for figure in drawn(["a", "b"]):
        for node in ElementTree.fromstring(figure.svg).iter():  # noqa: S314
            ids += [node.get("id")] if node.get("id") else []
            links = [v for k, v in node.attrib.items() if k.endswith(("href", "src"))]
            assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)
    assert len(ids) == len(set(ids))


def test_odd_class_names_are_text_and_nothing_more() -> None:
    svg = next(
        f.svg
        for f in drawn(["<script>alert(1)</script>", "$x^2$", "ответ"])
        if f.name == "confusion"
    )
    assert "<script" not in svg
    assert "$x^2$" in svg
    assert "ответ" in svg
