"""Models of sets of labels: what they learn, export and answer, and how that is scored."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import average_precision_score, f1_score, jaccard_score
from sklearn.preprocessing import MultiLabelBinarizer
from tests.support.made_once import make_once
from tests.support.small_label_sets import make_set_params, train_on_sets
from tests.support.small_texts import WORDS, small_params

from plumbline import bundle
from plumbline.contract import layout
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.split_files import write_split
from plumbline.tasks.text_classification import expectations, predictor, scoring
from plumbline.tasks.text_classification.data import (
    ingest,
    label_sets,
    read_label_sets,
    read_split,
    shuffle_labels,
)
from plumbline.tasks.text_classification.data.label_sets import serialize_labels
from plumbline.tasks.text_classification.models import build_learner, compare_export
from plumbline.tasks.text_classification.models.label_decisions import choose_label_thresholds
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.scoring.answers import collect_answers
from plumbline.tasks.text_classification.scoring.baselines import SetBaseline

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


GENERATED = {"num_rows": 2000, "label_noise": 0.1, "drift": 0.0, "max_labels": 3}


def test_metrics_agree_with_sklearn(trained: Path, texts: list[str]) -> None:
    tagger = predictor.load(trained / "linear")
    found = scoring.score(trained / layout.EXAMPLES, "test", tagger)
    binarizer = MultiLabelBinarizer(classes=NAMES).fit([])
    truth = binarizer.transform(read_label_sets(trained / layout.EXAMPLES, "test"))
    given = binarizer.transform(tagger.predict({"text": texts})["labels"])
    assert found.metrics["accuracy"] == pytest.approx((truth == given).all(axis=1).mean())
    assert found.metrics["macro_f1"] == pytest.approx(f1_score(truth, given, average="macro"))
    jaccard = jaccard_score(truth, given, average="samples", zero_division=1)
    assert found.metrics["jaccard"] == pytest.approx(jaccard)
    probabilities = collect_answers(tagger, texts, 99).probabilities
    losses = -np.log(np.where(truth == 1, probabilities, 1 - probabilities)).sum(axis=1)
    np.testing.assert_allclose(found.per_example["nll"], losses)
    assert found.tables["per_class"]["num_rows"].tolist() == truth.sum(axis=0).tolist()
    expected = {
        "macro_f1": found.metrics["macro_f1"],
        "average_precision": average_precision_score(truth, probabilities),
    }
    for metric, value in expected.items():
        chosen = scoring.score(trained / layout.EXAMPLES, "test", tagger, {"metric": metric})
        assert chosen.metrics[metric] == pytest.approx(value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"label": ["billing"]}, "the labels are"),
        ({"score": [0.99]}, "give"),
        ({"score": [0.1]}, "give"),
        ({"labels": [["login"]], "label": ["login"], "score": [0.0001]}, "give"),
        ({"labels": [["other"]], "label": ["other"]}, "has no score"),
    ],
)
def test_answers_that_contradict_themselves_are_found(
    change: dict[str, list[object]], words: str
) -> None:
    scores = [{"label": "billing", "score": 0.9}, {"label": "delivery", "score": 0.8}]
    scores.append({"label": "login", "score": 0.1})
    sound = {
        "label": ["billing|delivery"],
        "score": [0.9 * 0.8 * 0.9],
        "scores": [scores],
        "abstained": [False],
        "labels": [["billing", "delivery"]],
    }
    assert scoring.check_answers({"text": ["a"]}, {"top_k": 9}, sound) == []
    (problem,) = scoring.check_answers({"text": ["a"]}, {"top_k": 9}, sound | change)
    assert words in problem


def test_a_baseline_answers_the_most_frequent_set(trained: Path) -> None:
    sets = read_split(trained / layout.EXAMPLES, "train")["label"].to_pandas()
    baseline = scoring.build_baselines(small_params(), trained / layout.EXAMPLES)["majority"]
    assert isinstance(baseline, SetBaseline)
    answers = baseline.predict({"text": ["a", "b"]}, top_k=99)
    assert set(answers["label"]) == {sets.mode()[0]}
    shares = {entry["label"]: entry["score"] for entry in answers["scores"][0]}
    assert shares["login"] == pytest.approx(sets.str.contains("login").mean())


def test_in_jaccard_a_label_of_most_rows_is_a_baseline(tmp_path: Path) -> None:
    sets = ["(none)"] * 10 + [f"a|b{number}" for number in range(40)]
    lists = [serialize_labels(each) for each in sets]
    table = pa.table({"id": sets, "label": sets, "label_set": lists})
    write_split(tmp_path, "train", table)
    params = make_set_params(evaluation={"metric": "jaccard"})
    baselines = scoring.build_baselines(params, tmp_path)
    answers = {name: each.predict({"text": ["a"]}) for name, each in baselines.items()}
    assert answers["majority"]["labels"] == [[]]
    assert answers["overlap"]["labels"] == [["a"]]
    assert answers["overlap"]["score"] == [0.0]  # no row has this set
    assert "overlap" not in scoring.build_baselines(make_set_params(), tmp_path)


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> tuple[TextParams, Path]:
    """Parameters, and a folder of what ingest wrote with them."""
    folder = tmp_path_factory.mktemp("generated")
    params = make_set_params(data={"generated": GENERATED})
    (folder / "examples").mkdir()
    facts = ingest(params, folder / "examples", folder / "manifest.parquet")
    (folder / "source.json").write_text(json.dumps(facts), encoding="utf-8")
    return params, folder


def test_generated_tickets_have_one_to_three_labels_and_a_known_ceiling(
    generated: tuple[TextParams, Path],
) -> None:
    params, folder = generated
    manifest = pd.read_parquet(folder / "manifest.parquet")
    sizes = manifest["label"].str.count(r"\|") + 1
    assert sizes.value_counts(normalize=True).tolist() == pytest.approx([1 / 3] * 3, abs=0.05)
    rows = manifest[manifest["split"] == "test"]
    bound = scoring.compute_bound(params, folder / "examples", "test")
    assert bound.limit == pytest.approx(1 - rows["noisy"].mean())
    assert bound.limit < 1


def test_validate_asks_about_each_label(generated: tuple[TextParams, Path], tmp_path: Path) -> None:
    params, folder = generated
    manifest = pd.read_parquet(folder / "manifest.parquet")
    facts = json.loads((folder / "source.json").read_text(encoding="utf-8"))
    lost = manifest["label"].iloc[0].partition("|")[0]
    has_lost = manifest["label"].str.split("|").map(lambda labels: lost in labels)
    in_test, in_train = (manifest["split"] == split for split in ("test", "train"))
    manifest.loc[in_test & has_lost, "label"] = "a new one|another"
    manifest.to_parquet(tmp_path / "manifest.parquet", index=False)
    rows = expectations.build_table(
        params, folder / "examples", Manifest(tmp_path / "manifest.parquet"), facts
    )
    table = pa.Table.from_batches(rows).to_pandas()
    assert (table["unseen_labels"].notna() == in_test & has_lost).all()
    assert (table["absent_labels_test"].notna() == in_train & has_lost).all()
    assert table["absent_labels_test"].dropna().str.startswith(f"{lost!r}: ").all()
    assert table["rare_labels"].isna().all()
    assert set(table.loc[in_train, "num_labels"]) == {12}
    names = [check.name for check in expectations.build_checks(params, table)]
    assert "label_noise" not in names
    assert {"classes", "rare_labels", "absent_labels_test"} <= set(names)
