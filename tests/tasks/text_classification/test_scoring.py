"""Scores agree with sklearn and by hand; baselines read no text; figures are safe in a page."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, log_loss
from tests.support.example_rows import FixedAnswers, read_rows, write_rows

from plumbline.contract.records import Candidate, Figure, Scores
from plumbline.contract.yaml_file import load_yaml
from plumbline.statistics import calibration
from plumbline.tasks.text_classification.data import ingest
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.scoring import score, scores
from plumbline.tasks.text_classification.scoring.baselines import build_baselines, compute_bound
from plumbline.tasks.text_classification.scoring.figures import draw_figures
from plumbline.tasks.text_classification.scoring.scores import compute_risk_coverage

ROOT = Path(__file__).parents[3]
NAMES = ["a", "b", "c"]


@pytest.fixture
def params() -> TextParams:
    return TextParams.model_validate(load_yaml(ROOT / "recipes/text_classification.yaml"))


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    for split, size in (("train", 300), ("validation", 100), ("test", 400)):
        labels = rng.choice(NAMES, size, p=[0.5, 0.3, 0.2])
        ids = [f"{split}{i}" for i in range(size)]
        table = pd.DataFrame({"id": ids, "text": ids, "label": labels})
        write_rows(tmp_path, split, table)
    return tmp_path


@pytest.fixture
def probabilities_of(examples: Path) -> dict[str, list[float]]:
    texts = read_rows(examples, "test")["text"]
    return dict(
        zip(texts, np.random.default_rng(4).dirichlet([0.6] * 3, len(texts)).tolist(), strict=True)
    )


def test_metrics_agree_with_sklearn(
    examples: Path, probabilities_of: dict[str, list[float]]
) -> None:
    found = score(examples, "test", FixedAnswers(probabilities_of))
    actual = read_rows(examples, "test")["label"].to_numpy()
    probabilities = np.array(list(probabilities_of.values()))
    predicted = np.array(NAMES)[probabilities.argmax(axis=1)]
    assert found.metrics["accuracy"] == pytest.approx(np.mean(actual == predicted))
    assert found.metrics["macro_f1"] == pytest.approx(f1_score(actual, predicted, average="macro"))
    assert found.metrics["nll"] == pytest.approx(log_loss(actual, probabilities, labels=NAMES))
    onehot = (actual[:, None] == np.array(NAMES)).astype(float)
    assert found.metrics["brier"] == pytest.approx(
        ((probabilities - onehot) ** 2).sum(axis=1).mean()
    )
    assert list(found.per_example["id"]) == [f"test{i}" for i in range(400)]
    assert {len(values) for values in found.per_example.values()} == {400}


def test_a_split_of_one_class_is_scored(tmp_path: Path) -> None:
    texts = ["one", "two", "three"]
    write_rows(tmp_path, "test", pd.DataFrame({"id": texts, "text": texts, "label": "b"}))
    answers = [[0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.8, 0.1, 0.1]]
    found = score(tmp_path, "test", FixedAnswers(dict(zip(texts, answers, strict=True))))
    (row,) = found.tables["per_class"].to_dict("records")
    assert row["label"] == "b"
    assert row["recall"] == pytest.approx(2 / 3)
    assert row["precision"] == 1.0
    assert found.metrics["macro_f1"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("shift", "num_rows", "least", "most"),
    [
        (0.0, 200, 0.0, 0.0),
        (0.05, 200, 0.0, 0.0),  # just within the limit
        (0.05, 2000, 0.0, 0.0),
        (0.2, 200, 0.95, 1.0),
        (0.12, 2000, 0.9, 1.0),
    ],
)
def test_a_calibration_error_beyond_its_limit_is_told_from_chance(
    shift: float, num_rows: int, least: float, most: float
) -> None:
    """Over many test splits: by itself the error of 200 rows is 0.07 where it should be 0."""
    assert least <= measure_refusals(lambda confidence: confidence - shift, num_rows) <= most


@pytest.mark.parametrize(("shift", "most"), [(0.2, 0.0), (0.25, 0.02)])  # inside; at the limit
def test_an_error_that_is_all_in_one_place_is_not_refused(shift: float, most: float) -> None:
    def boast(confidence: np.ndarray) -> np.ndarray:
        return confidence - shift * (confidence > np.quantile(confidence, 0.8))

    assert measure_refusals(boast, 400) <= most


def measure_refusals(be_right: Callable[[np.ndarray], np.ndarray], num_rows: int) -> float:
    """Return the share of 60 test splits that show more than 0.05; by confidence, who is right."""
    random = np.random.default_rng(0)
    refused = []
    for _ in range(60):
        confidence = 0.25 + 0.7 * random.beta(2, 1, num_rows)
        hits = (random.random(num_rows) < be_right(confidence)).astype(float)
        found = calibration.measure_calibration(confidence, hits, 0.05)
        assert found.error == calibration.compute_calibration_error(confidence, hits)
        refused.append(found.error > found.highest or found.bias > found.highest_bias)
    return float(np.mean(refused))


def test_the_least_confident_are_handed_over_first() -> None:
    curve = compute_risk_coverage(np.array([0.9, 0.8, 0.7, 0.6]), np.array([1.0, 1.0, 0.0, 0.0]))
    assert dict(zip(curve["coverage"], curve["accuracy"], strict=True)) == pytest.approx(
        {1.0: 0.5, 0.75: 2 / 3, 0.5: 1.0, 0.25: 1.0}
    )


def test_a_class_the_predictor_never_saw_is_wrong_but_not_infinitely(
    examples: Path, tmp_path: Path
) -> None:
    table = pd.DataFrame({"id": ["1", "2"], "text": ["x", "y"], "label": ["a", "new"]})
    write_rows(tmp_path, "test", table)
    found = score(examples, "test", FixedAnswers({"x": [1.0, 0, 0], "y": [1.0, 0, 0]}))
    assert found.per_example["accuracy"].tolist() == [1.0, 0.0]
    assert np.isfinite(found.per_example["nll"]).all()


def test_baselines_know_the_frequencies_and_nothing_else(
    params: TextParams, examples: Path
) -> None:
    known = build_baselines(params, examples)
    found = {name: score(examples, "test", predictor) for name, predictor in known.items()}
    assert set(found["majority"].per_example["predicted"]) == {"a"}
    drawn = pd.Series(found["stratified"].per_example["predicted"]).value_counts(normalize=True)
    assert drawn["a"] == pytest.approx(0.5, abs=0.08)
    assert drawn["c"] == pytest.approx(0.2, abs=0.08)
    again = score(examples, "test", build_baselines(params, examples)["stratified"])
    assert (again.per_example["predicted"] == found["stratified"].per_example["predicted"]).all()
    assert found["majority"].metrics["ece"] < 0.1


def test_the_ceiling_of_generated_data_is_what_the_source_says_and_not_the_manifest(
    params: TextParams, tmp_path: Path
) -> None:
    manifest, examples = tmp_path / "manifest.parquet", tmp_path / "examples"
    examples.mkdir()
    facts = ingest(params, examples, manifest)
    pd.read_parquet(manifest).assign(noisy=False).to_parquet(manifest, index=False)

    bound = compute_bound(params, examples, "test")

    assert bound.limit == pytest.approx(facts["generated"]["ceiling"]["test"])
    assert bound.limit < 1


def test_nobody_knows_the_ceiling_of_other_data(params: TextParams, tmp_path: Path) -> None:
    data = params.data.model_copy(update={"source": "data/raw/tickets.csv"})
    found = compute_bound(params.model_copy(update={"data": data}), tmp_path / "examples", "test")
    assert found.limit is None
    assert "not known" in found.reason


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
