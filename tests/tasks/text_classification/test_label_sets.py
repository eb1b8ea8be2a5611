"""Models of sets of labels: what they learn, export, answer, and how their answers are scored."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score
from tests.support.made_once import make_once
from tests.support.small_label_sets import train_on_sets
from tests.support.small_texts import WORDS, small_params

from plumbline import bundle
from plumbline.contract import layout
from plumbline.tasks.text_classification import predictor, scoring
from plumbline.tasks.text_classification.data import label_sets, read_split, shuffle_labels
from plumbline.tasks.text_classification.models import build_learner, compare_export
from plumbline.tasks.text_classification.models.label_decisions import choose_label_thresholds
from plumbline.tasks.text_classification.scoring.answers import collect_answers

NAMES = sorted(WORDS)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    return make_once(tmp_path_factory, worker_id, "trained-on-sets", train_on_sets)


@pytest.fixture(scope="module")
def texts(trained: Path) -> list[str]:
    return read_split(trained / layout.EXAMPLES, "test")["text"].to_pylist()


@pytest.fixture(params=["linear in fp32", "transformer in fp32", "transformer in int8"])
def tagger(trained: Path, request: pytest.FixtureRequest) -> predictor.Predictor:
    name, _, form = request.param.partition(" in ")
    return predictor.load(trained / name, form)


def test_the_predictor_writes_sets_as_ingest_does() -> None:
    assert predictor.SEPARATOR == label_sets.SEPARATOR
    assert predictor.NO_LABEL == label_sets.NO_LABEL


def test_a_threshold_is_that_of_the_best_f1() -> None:
    draw = np.random.default_rng(5)
    targets = (draw.random((300, 2)) < [0.1, 0.5]).astype(float)
    probabilities = np.clip(0.3 * targets + draw.random((300, 2)) * 0.6, 0, 1)
    thresholds = choose_label_thresholds(probabilities, targets)
    for label, threshold in enumerate(thresholds):
        found = f1_score(targets[:, label], probabilities[:, label] >= threshold)
        others = [
            f1_score(targets[:, label], probabilities[:, label] >= cut, zero_division=0)
            for cut in np.linspace(0, 1, 400)
        ]
        assert found >= max(others)


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_rows_that_are_all_equal_are_all_given_a_label(probability: float) -> None:
    targets = np.array([1.0] * 6 + [0.0] * 6)
    equal = np.full((12, 1), probability)
    assert choose_label_thresholds(equal, targets[:, None]) == [probability / 2]


def test_labels_are_those_above_their_thresholds(
    tagger: predictor.Predictor, texts: list[str]
) -> None:
    assert tagger.thresholds is not None
    answers = tagger.predict({"text": texts}, top_k=99)
    probabilities = 1 / (1 + np.exp(-tagger.compute_logits(texts) / tagger.temperature))
    np.testing.assert_allclose(
        collect_answers(tagger, texts, 99).probabilities, probabilities, atol=1e-9
    )
    for row, labels in enumerate(answers["labels"]):
        given = probabilities[row] >= tagger.thresholds
        assert labels == [name for name, is_given in zip(NAMES, given, strict=True) if is_given]
        chance = np.where(given, probabilities[row], 1 - probabilities[row]).prod()
        assert answers["score"][row] == pytest.approx(chance, abs=1e-9)
        assert answers["label"][row] == label_sets.join_labels(labels)
    assert {len(labels) for labels in answers["labels"]} == {0, 1, 2, 3}
    assert scoring.check_answers({"text": texts}, {"top_k": 99}, answers) == []
    few = tagger.predict({"text": texts}, top_k=1)
    assert few["labels"] == answers["labels"]
    assert scoring.check_answers({"text": texts}, {"top_k": 1}, few) == []


@pytest.mark.parametrize("name", ["linear", "transformer"])
def test_each_form_answers_as_the_weights(
    name: str, trained: Path, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    differences = compare_export(small_params(), name, trained / name, {"text": texts})
    assert [each for each in differences if each.largest > each.limit] == []


def test_a_bundle_of_sets_names_labels_among_its_outputs(trained: Path) -> None:
    outputs = [field.name for field in bundle.read_signature(trained / "linear").outputs]
    assert outputs == ["label", "score", "scores", "abstained", "labels"]
    answers = predictor.load(trained / "linear").predict({"text": ["refund the invoice"]})
    assert list(answers) == outputs


def test_shuffled_sets_stay_sets(trained: Path, tmp_path: Path) -> None:
    shuffle_labels(trained / layout.EXAMPLES, tmp_path, seed=1, max_rows=300)
    before = read_split(trained / layout.EXAMPLES, "train").to_pandas()
    after = read_split(tmp_path, "train").to_pandas()
    assert (after["label"].map(label_sets.serialize_labels) == after["label_set"]).all()
    assert (after["label"] != before.set_index("id")["label"][after["id"]].to_numpy()).mean() > 0.5
    learner = build_learner(small_params(), "linear", tmp_path)
    assert learner.data.train.targets.shape == (300, 3)


def test_a_model_that_abstains_does_so_by_the_probability_of_the_set(trained: Path) -> None:
    tagger = predictor.load(trained / "linear")
    config = json.loads((trained / "linear/config.json").read_text(encoding="utf-8"))
    assert config["threshold"] is None
    answers = tagger.predict({"text": ["please help monday"]}, threshold=1.0)
    assert answers["abstained"] == [answers["score"][0] < 1.0]
