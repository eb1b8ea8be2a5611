"""Metrics besides accuracy: means over rows, what the data allow, and how far intervals reach."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from sklearn.metrics import average_precision_score, balanced_accuracy_score, f1_score
from tests.support.example_rows import FixedAnswers, read_rows, write_rows
from tests.support.small_texts import SHIPPED

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Selective
from plumbline.contract.records import Scores
from plumbline.evidence.predictors import score_split
from plumbline.tasks.text_classification import expectations, scoring
from plumbline.tasks.text_classification.data import ingest
from plumbline.tasks.text_classification.data.generated import find_noisy
from plumbline.tasks.text_classification.models.export import choose_sealed_thresholds
from plumbline.tasks.text_classification.models.forms import FormPolicy
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.scoring.chosen_metric import LabelAnswers, add_metric
from plumbline.tasks.text_classification.task import TASK

COSTS = {"urgent": {"spam": 50.0, "other": 5.0}}


def _scores(actual: list[str], predicted: list[str]) -> Scores:
    labels, answers = np.array(actual, object), np.array(predicted, object)
    hits = (labels == answers).astype(float)
    rows = {"actual": labels, "predicted": answers, "accuracy": hits}
    return Scores(rows, {"accuracy": float(hits.mean())})


def _add(actual: list[str], predicted: list[str], **chosen: object) -> Scores:
    labels = LabelAnswers(
        [(label,) for label in actual], [(label,) for label in predicted], [], np.empty((0, 0))
    )
    return add_metric(_scores(actual, predicted), labels, chosen)


def _choose(**values: object) -> TextParams:
    plain = SHIPPED.model_dump()
    changed = {**plain, "evaluation": plain["evaluation"] | values}
    return TextParams.model_validate(changed)


def test_balanced_accuracy_is_the_mean_of_the_rows() -> None:
    draw = np.random.default_rng(3)
    actual = draw.choice(["a", "b", "c"], 200, p=[0.7, 0.2, 0.1])
    predicted = np.where(draw.random(200) < 0.7, actual, "b")
    scores = _add(actual, predicted, metric="balanced_accuracy")
    expected = balanced_accuracy_score(actual, predicted)
    assert scores.metrics["balanced_accuracy"] == pytest.approx(expected)
    assert scores.per_example["balanced_accuracy"].mean() == pytest.approx(expected)
    assert (scores.per_example["correct"] == (actual == predicted)).all()


@pytest.mark.parametrize("name", ["macro_f1", "average_precision"])
def test_metrics_of_the_whole_split_agree_with_sklearn(name: str, tmp_path: Path) -> None:
    labels = np.random.default_rng(1).choice(["a", "b"], 300, p=[0.8, 0.2])
    ids = [f"row{number}" for number in range(300)]
    write_rows(tmp_path, "test", pd.DataFrame({"id": ids, "text": ids, "label": labels}))
    logits = np.random.default_rng(2).normal(0, 1, (300, 3)) + 2 * (labels[:, None] == list("abc"))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    predictor = FixedAnswers(dict(zip(ids, probabilities, strict=True)))
    scores = scoring.score(tmp_path, "test", predictor, {"metric": name})
    predicted = np.array(list("abc"))[probabilities.argmax(axis=1)]
    expected = {"macro_f1": f1_score(labels, predicted, average="macro", labels=["a", "b"])}
    expected["average_precision"] = average_precision_score(
        labels[:, None] == np.array(["a", "b"]), probabilities[:, :2]
    )
    assert scores.metrics[name] == pytest.approx(expected[name])
    assert scores.per_example[name].mean() == pytest.approx(expected[name])
    assert (scores.per_example["correct"] == (labels == predicted)).all()


def test_a_class_that_the_model_does_not_know_has_the_average_precision_of_chance() -> None:
    actual = [("a",), ("b",), ("b",), ("b",)]
    labels = LabelAnswers(actual, [("a",)] * 4, ["a"], np.array([[0.9], [0.1], [0.1], [0.1]]))
    scores = add_metric(
        _scores(["a", "b", "b", "b"], ["a"] * 4), labels, {"metric": "average_precision"}
    )
    assert scores.metrics["average_precision"] == pytest.approx((1 + 3 / 4) / 2)


def test_costs_are_those_of_params_and_1_for_other_errors() -> None:
    actual = ["urgent", "urgent", "urgent", "spam", "spam"]
    answers = ["urgent", "spam", "other", "spam", "urgent"]
    scores = _add(actual, answers, metric="expected_cost", costs=COSTS)
    assert scores.per_example["expected_cost"].tolist() == [0, 50, 5, 0, 1]
    assert scores.metrics["expected_cost"] == pytest.approx(56 / 5)


def test_a_model_that_is_not_known_to_keep_the_precision_answers_nothing() -> None:
    asked = Selective(risk=0.05, min_coverage=0.2)
    policy = FormPolicy(("fp32",), SHIPPED.evaluation.model_copy(update={"selective": asked}))
    logits = np.random.default_rng(5).normal(0, 4, (200, 2))
    wrong = choose_sealed_thresholds(policy, logits, logits.argmin(axis=1))
    assert wrong["threshold"] > 1
    right = choose_sealed_thresholds(policy, logits, logits.argmax(axis=1))
    assert right["threshold"] == 0
    unasked = FormPolicy(("fp32",), SHIPPED.evaluation)
    assert choose_sealed_thresholds(unasked, logits, logits.argmin(axis=1))["threshold"] is None


@pytest.mark.parametrize(
    "values",
    [
        {"metric": "f1"},
        {"metric": "expected_cost"},
        {"metric": "nll", "costs": COSTS},
        {"costs": COSTS},
        {"metric": "expected_cost", "costs": {"urgent": {"urgent": 1.0}}},
        {"metric": "expected_cost", "costs": {"urgent": {"spam": -1.0}}},
        {"metric": "expected_cost", "costs": {}},
    ],
)
def test_other_metrics_and_costs_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        _choose(**values)


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Examples of the generated data, with label noise."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "examples").mkdir()
    ingest(_choose_noisy(), folder / "examples", folder / "manifest.parquet")
    return folder


def _choose_noisy(**values: object) -> TextParams:
    plain = _choose(**values).model_dump()
    noisy = {"num_rows": 1500, "label_noise": 0.1, "drift": 0.0}
    return TextParams.model_validate({**plain, "data": plain["data"] | {"generated": noisy}})


def test_the_bound_is_known_for_accuracy(generated: Path) -> None:
    params = _choose_noisy(metric="accuracy")
    ids = read_rows(generated / "examples", "test")["id"].tolist()
    noisy = find_noisy(params, ids)
    assert noisy
    bound = scoring.compute_bound(params, generated / "examples", "test")
    assert bound.limit == pytest.approx(1 - len(noisy) / len(ids))
    for metric in ("balanced_accuracy", "nll"):
        params = _choose_noisy(metric=metric)
        assert scoring.compute_bound(params, generated / "examples", "test").limit is None


def test_costs_have_a_cheapest_answer(generated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = read_rows(generated / "examples", "train")
    rare = rows["label"].value_counts().index[-1]
    costs = {label: {other: 1.0 for other in rows["label"].unique() if other not in (label, rare)}
             for label in rows["label"].unique()}  # fmt: skip
    costs[rare] = {other: 1000.0 for other in rows["label"].unique() if other != rare}
    params = _choose_noisy(metric="expected_cost", costs=costs)
    cheapest = scoring.build_baselines(params, generated / "examples")["cheapest"]
    assert set(cheapest.predict({"text": ["a", "b"]})["label"]) == {rare}
    (generated / "data").mkdir(exist_ok=True)
    if not (generated / "data/examples").exists():
        (generated / "data/examples").symlink_to(generated / "examples")
    monkeypatch.chdir(generated)
    scores = score_split(TASK.configure(params), "test", cheapest)
    is_rare = read_rows(layout.EXAMPLES, "test")["label"] == rare
    assert scores.metrics["expected_cost"] == pytest.approx(1 - is_rare.mean())


def test_costs_of_a_class_that_no_row_has_are_an_error() -> None:
    table = pd.DataFrame({"label": ["spam", "urgent", "other"], "split": "train"})
    params = _choose(metric="expected_cost", costs={"urgnet": {"spam": 5.0}})
    with pytest.raises(ParamsError, match=r"label 'urgnet' \(did you mean urgent\?\)"):
        expectations.build_checks(params, table)
