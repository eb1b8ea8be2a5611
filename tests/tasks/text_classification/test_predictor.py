"""The predictor: the same answers alone and together, bad rows named, its words in every script."""

import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.made_once import make_once
from tests.support.small_texts import CANDIDATES, small_params
from tests.support.small_trained import SHARED, train_on_texts

from plumbline.contract import layout
from plumbline.tasks.text_classification import predictor
from plumbline.tasks.text_classification.data import read_split, words

TOLERANCE = 1e-6  # of a probability


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The bundles of all candidates, and the examples they were trained on."""
    return make_once(tmp_path_factory, worker_id, SHARED, train_on_texts)


@pytest.fixture(
    scope="module",
    params=["linear", "transformer", "transformer in int8", "ensemble", "ensemble in int8"],
)
def answerer(trained: Path, request: pytest.FixtureRequest) -> predictor.Predictor:
    candidate, _, form = request.param.partition(" in ")
    return predictor.load(trained / candidate, form or "fp32")


@pytest.fixture(scope="module")
def texts(trained: Path) -> list[str]:
    test_texts = read_split(trained / layout.EXAMPLES, "test")["text"].to_pylist()
    return [*test_texts, "ünïcødé 🎉 مرحبا", "refund " * 500, "?"]


def _read_scores(answers: dict[str, list[Any]], classes: list[str]) -> np.ndarray:
    rows = [{score["label"]: score["score"] for score in row} for row in answers["scores"]]
    return np.array([[row[name] for name in classes] for row in rows])


def test_a_text_is_cut_where_ingest_cuts_it(answerer: predictor.Predictor) -> None:
    max_chars = small_params().data.policies.max_chars
    cut = ("my invoice was charged twice " * 200)[:max_chars]
    logits = answerer.compute_logits([cut, cut + " password locked account" * 100])
    assert (logits[0] == logits[1]).all()


def test_a_row_gets_the_same_answer_alone_and_in_company(
    answerer: predictor.Predictor, texts: list[str]
) -> None:
    def answer(texts: list[str]) -> np.ndarray:
        return _read_scores(answerer.predict({"text": texts}, top_k=3), answerer.classes)

    together = answer(texts)
    alone = [answer([text])[0] for text in texts]
    np.testing.assert_allclose(together, alone, rtol=0, atol=TOLERANCE)
    backwards = answer(texts[::-1])[::-1]
    np.testing.assert_allclose(together, backwards, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(together.sum(axis=1), 1, atol=1e-9)
    assert together.std(axis=0).min() > 0.001  # rows do differ


def test_scores_are_sorted_cut_at_top_k_and_weighed_against_the_threshold(
    answerer: predictor.Predictor,
) -> None:
    text = {"text": ["charged twice please refund"]}
    all_ = answerer.predict(text, top_k=99)
    assert [len(row) for row in all_["scores"]] == [3]
    assert all_["scores"][0] == sorted(all_["scores"][0], key=lambda score: -score["score"])
    assert all_["label"][0] == all_["scores"][0][0]["label"]
    best = all_["score"][0]
    assert answerer.predict(text, top_k=1)["scores"][0] == all_["scores"][0][:1]
    assert answerer.predict(text, threshold=best - 1e-3)["abstained"] == [False]
    assert answerer.predict(text, threshold=min(1.0, best + 1e-3))["abstained"] == [True]


def test_no_rows_give_no_answers(answerer: predictor.Predictor) -> None:
    names = ["label", "score", "scores", "abstained"]
    if answerer.members > 1:
        names += ["epistemic", "aleatoric"]
    assert answerer.predict({"text": []}) == {name: [] for name in names}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (None, "expected text, found NoneType"),
        (7, "expected text, found int"),
        (float("nan"), "expected text, found float"),
        (b"bytes", "expected text, found bytes"),
        ("", "empty"),
        (" \t\n", "empty"),
        ("x" * (predictor.MAX_CHARS + 1), "100,001 characters"),
        ("half \ud83d", "unpaired surrogate"),
    ],
)
def test_a_bad_row_is_named(answerer: predictor.Predictor, bad: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"row 1: text: .*{message}"):
        answerer.predict({"text": ["fine", bad, "fine"]})


@pytest.mark.parametrize(
    "wrong", [{"top_k": 0}, {"top_k": 1.5}, {"top_k": True}, {"threshold": 2}, {"threshold": "a"}]
)
def test_a_bad_parameter_is_named(answerer: predictor.Predictor, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        answerer.predict({"text": ["fine"]}, **wrong)


def test_a_missing_column_is_named(answerer: predictor.Predictor) -> None:
    with pytest.raises(ValueError, match="no column 'text'; found 'txt'"):
        answerer.predict({"txt": ["fine"]})


def test_threads_may_share_it(answerer: predictor.Predictor, texts: list[str]) -> None:
    expected = _read_scores(answerer.predict({"text": texts}), answerer.classes)
    with ThreadPoolExecutor(8) as pool:
        for answers in pool.map(lambda _: answerer.predict({"text": texts}), range(32)):
            scores = _read_scores(answers, answerer.classes)
            np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("candidate", CANDIDATES)
def test_it_runs_where_plumbline_and_torch_are_not(
    candidate: str, trained: Path, tmp_path: Path
) -> None:
    shutil.copy(predictor.__file__, tmp_path / "predictor.py")
    absent = ["plumbline", "torch", "transformers", "pandas", "sklearn", "scipy"]
    script = (
        "import sys\n"
        f"for name in {absent}:\n"
        "    sys.modules[name] = None\n"
        "import predictor\n"
        f"loaded = predictor.load({str(trained / candidate)!r})\n"
        "print(loaded.predict({'text': ['refund the invoice']})['label'][0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() in ("billing", "delivery", "login")


def test_the_predictor_has_the_same_words() -> None:
    assert predictor.SIGNS == words.SIGNS
    assert predictor.WORD.pattern == words.WORD


@pytest.mark.parametrize(
    ("text", "grams"),
    [
        ("Where is it?", ["where", "is", "it", "where is", "is it"]),
        ("我要退款", ["我", "要", "退", "款", "我 要", "要 退", "退 款"]),
        ("返金です", ["返", "金", "で", "す", "返 金", "金 で", "で す"]),
        ("iPhone坏了", ["iphone", "坏", "了", "iphone 坏", "坏 了"]),
        ("great👍👍", ["great", "👍", "👍", "great 👍", "👍 👍"]),
        ("환불 부탁", ["환불", "부탁", "환불 부탁"]),
    ],
)
def test_grams(text: str, grams: list[str]) -> None:
    assert predictor.extract_grams(text) == grams


def test_thai_is_read_sign_by_sign() -> None:
    assert predictor.extract_grams("ขอคืนเงิน")[:9] == list("ขอคืนเงิน")


def test_long_words_are_those_of_scikit_learn_where_words_have_blanks() -> None:
    text = "A 1st try, don't: naïve_x ünï 42 b"
    assert re.findall(words.LONG_WORD, text) == re.findall(r"\b\w\w+\b", text)
