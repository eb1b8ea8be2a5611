"""Ensembles: what members agree on and what not, in every form, as they were trained."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.made_once import make_once
from tests.support.small_texts import small_params
from tests.support.small_trained import SHARED, train_on_texts

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.contract.loading import load_params
from plumbline.tasks.text_classification import predictor, scoring
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.models.ensemble import draw_row_weights
from plumbline.tasks.text_classification.scoring.answers import collect_answers

TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The sealed bundles of both kinds of members, and of a single linear model."""
    return make_once(tmp_path_factory, worker_id, SHARED, train_on_texts)


@pytest.fixture(params=["ensemble in fp32", "ensemble in int8", "linears in fp32"])
def members(trained: Path, request: pytest.FixtureRequest) -> predictor.Predictor:
    name, _, form = request.param.partition(" in ")
    return predictor.load(trained / name, form)


@pytest.fixture(scope="module")
def texts(trained: Path) -> list[str]:
    return read_split(trained / layout.EXAMPLES, "test")["text"].to_pylist()


def test_both_parts_sum_to_the_entropy_of_the_mean(
    members: predictor.Predictor, texts: list[str]
) -> None:
    answers = members.predict({"text": texts}, top_k=99)
    rows = [[entry["score"] for entry in row] for row in answers["scores"]]
    entropy = [-sum(p * np.log(p) for p in row) for row in rows]
    epistemic, aleatoric = np.array(answers["epistemic"]), np.array(answers["aleatoric"])
    np.testing.assert_allclose(epistemic + aleatoric, entropy, atol=1e-9)
    assert (epistemic >= 0).all()
    assert epistemic.max() > 1e-4  # members do differ
    assert np.ptp(epistemic) > 1e-4  # and not on all texts alike
    assert scoring.check_answers({"text": texts}, {"top_k": 99}, answers) == []


def test_the_answer_is_that_of_the_mean_of_the_members(
    members: predictor.Predictor, texts: list[str]
) -> None:
    logits = members.compute_logits(texts)
    assert logits.shape == (len(texts), 3, 3)
    odds = np.exp(logits / members.temperature)
    mean = (odds / odds.sum(axis=2, keepdims=True)).mean(axis=1)
    np.testing.assert_allclose(
        collect_answers(members, texts, 99).probabilities, mean, atol=TOLERANCE
    )
    best = [members.classes[number] for number in mean.argmax(axis=1)]
    assert members.predict({"text": texts})["label"] == best


def test_only_the_bundle_of_an_ensemble_says_that_it_tells_doubt_apart(trained: Path) -> None:
    single = [field.name for field in bundle.read_signature(trained / "linear").outputs]
    assert single == ["label", "score", "scores", "abstained"]
    outputs = bundle.read_signature(trained / "linears").outputs
    assert [field.name for field in outputs] == [*single, "epistemic", "aleatoric"]
    assert all(field.required for field in outputs)
    answers = predictor.load(trained / "linears").predict({"text": ["refund the invoice"]})
    assert list(answers) == [field.name for field in outputs]


def test_members_learn_from_rows_as_a_bootstrap_weighs_them() -> None:
    weights = draw_row_weights(20_000, 3, seed=7)
    assert weights.mean(axis=0) == pytest.approx([1, 1, 1], abs=0.03)
    assert (weights == 0).mean() == pytest.approx(np.exp(-1), abs=0.01)
    assert abs(np.corrcoef(weights.T)[0, 1]) < 0.03
    assert (weights == draw_row_weights(20_000, 3, seed=7)).all()
    assert (weights != draw_row_weights(20_000, 3, seed=8)).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [({"members": 1}, "members"), ({"member": {"kind": "pretrained"}}, "member")],
)
def test_other_members_are_refused(change: dict, message: str, tmp_path: Path) -> None:
    config = small_params().model_dump(mode="json")
    config["candidates"]["ensemble"] |= change
    path = tmp_path / "params.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ParamsError, match=rf"candidates\.ensemble.*{message}"):
        load_params(path)
