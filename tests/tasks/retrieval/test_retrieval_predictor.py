"""The search as it is served: what it finds, in which order, and what it refuses."""

import unicodedata
from typing import Any

import numpy as np
import pytest

from tasks.retrieval.predictor import LexicalIndex, Predictor, list_words, rank_passages
from tasks.retrieval.scoring import check_answers

TEXTS = [
    "the refund is paid within ten days",
    "a parcel that is late",
    "a parcel that is late, and a parcel that is lost",
    "opening hours of all branches",
]
CORPUS = {"ids": ["p0", "p1", "p2", "p3"], "texts": TEXTS}


class FixedEncoder:
    """A query is as near to passage n as its n-th letter says, a passage has them in reverse."""

    def encode(self, texts: list[str], *, passages: bool) -> np.ndarray:
        """Return one vector for each text."""
        read = [text[::-1] if passages else text for text in texts]
        vectors = np.array([[float(letter) for letter in text[:4]] for text in read])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / lengths).astype(np.float32)

    def count_tokens(self, text: str) -> int:
        """Return the number of letters."""
        return len(text)


def by_words(**params: Any) -> Predictor:
    return Predictor(CORPUS, LexicalIndex(TEXTS, 1.2, 0.75), None, None, 4000, **params)


def by_vectors(words: LexicalIndex | None = None) -> Predictor:
    return Predictor(CORPUS, words, FixedEncoder(), np.eye(4, dtype=np.float16), 4000)


def ask(predictor: Predictor, query: str, **params: Any) -> dict[str, Any]:
    columns = {"query": [query]}
    answers = predictor.predict(columns, **params)
    assert check_answers(columns, params, answers) == []
    return {name: values[0] for name, values in answers.items()}


def test_bm25_has_the_scores_of_its_formula() -> None:
    index = LexicalIndex(TEXTS, 1.2, 0.75)
    lengths = np.array([7, 5, 11, 5])
    rarity = np.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    times = np.array([0, 1, 2, 0])
    norms = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    expected = rarity * times * 2.2 / (times + norms)
    assert index.score_passages("PARCEL, unheard") == pytest.approx(expected)


def test_words_find_the_passages_that_have_them_and_no_others() -> None:
    assert ask(by_words(), "late parcel")["ids"] == ["p1", "p2"]
    nothing = ask(by_words(), "qwertz")
    assert (nothing["id"], nothing["ids"], nothing["scores"]) == ("", [], [])


def test_marks_belong_to_words_and_one_way_to_write_them_finds_the_other() -> None:
    assert list_words("हिन्दी में, M\u0303N ❤\ufe0f") == ["हिन्दी", "में", "m\u0303n"]
    index = LexicalIndex(["Die Größe wurde geändert", "Nichts davon"], 1.2, 0.75)
    written = index.score_passages("Größe geändert")
    assert written[0] > 0
    assert (index.score_passages(unicodedata.normalize("NFD", "Größe geändert")) == written).all()


def test_thai_is_found_though_it_has_no_blanks_between_words() -> None:
    index = LexicalIndex(["วิธีเปลี่ยนรหัสผ่านของบัญชี", "เวลาทำการของศูนย์บริการ"], 1.2, 0.75)
    own, other = index.score_passages("อยากเปลี่ยนรหัสผ่าน")
    assert own > other


def test_vectors_rank_all_passages_and_ties_keep_the_order_of_the_corpus() -> None:
    found = ask(by_vectors(), "1990")
    assert found["ids"] == ["p1", "p2", "p0", "p3"]
    assert ask(by_vectors(), "5555")["ids"] == ["p0", "p1", "p2", "p3"]
    assert ask(by_vectors(), "1990", top_k=2)["ids"] == ["p1", "p2"]


def test_fusion_adds_reciprocal_ranks() -> None:
    found = ask(by_vectors(LexicalIndex(TEXTS, 1.2, 0.75)), "9102 hours of branches")
    assert found["ids"][:2] == ["p3", "p0"]
    assert found["scores"][0] == pytest.approx(1 / 61 + 1 / 62, abs=1e-6)
    assert found["scores"][1] == pytest.approx(1 / 61, abs=1e-6)  # no word of the query


def test_texts_and_vectors_are_given_on_request() -> None:
    found = ask(by_vectors(), "1990", top_k=1, texts=True, vectors=True)
    assert found["texts"] == ["a parcel that is late"]
    assert np.linalg.norm(found["vector"]) == pytest.approx(1)
    assert found["tokens"] == 4
    reverse = ask(by_vectors(), "0991", vectors=True, passages=True)
    assert reverse["vector"] == found["vector"]
    assert ask(by_vectors(), "1990", top_k=0, vectors=True)["vector"] == found["vector"]
    search = Predictor(CORPUS, None, FixedEncoder(), np.eye(4, dtype=np.float16), 4)
    assert ask(search, " \n1990 and more") == ask(search, "1990")  # cut as by ingest
    plain = ask(by_vectors(), "1990")
    assert (plain["texts"], plain["vector"], plain["tokens"]) == ([], [], 0)
    assert ask(by_words(), "parcel", vectors=True)["vector"] == []


def test_the_best_come_first() -> None:
    assert rank_passages(np.array([0.1, 0.9, 0.9, 0.3])).tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize(
    ("queries", "params", "message"),
    [
        (["x", None], {}, "row 1: query: expected text, found NoneType"),
        ([" \n"], {}, "row 0: query: empty"),
        (["x" * 100_001], {}, "100,001 characters; at most 100,000"),
        (["\ud800"], {}, "row 0: query: unpaired surrogate at 0"),
        (["x"], {"top_k": -1}, "top_k: expected a whole number from 0 to 1000, found -1"),
        (["x"], {"top_k": True}, "top_k: expected a whole number"),
        (["x"], {"texts": 1}, "texts: expected true or false, found 1"),
    ],
)
def test_what_cannot_be_answered_is_named(queries: Any, params: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        by_words().predict({"query": queries}, **params)


def test_another_column_is_named() -> None:
    with pytest.raises(ValueError, match="no column 'query'; found 'question'"):
        by_words().predict({"question": ["x"]})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"ids": [["p1", "p1"]]}, "a passage is answered twice"),
        ({"scores": [[0.1, 0.2]]}, "the scores do not fall"),
        ({"scores": [[float("nan"), 0.2]]}, "the scores do not fall"),
        ({"id": ["p3"]}, "the answer is not the first of the ids"),
        ({"vector": [[0.5, 0.5]]}, "the vector does not have length 1"),
        ({"ids": [["p1"]]}, "1 ids and 2 scores, where 10 were asked for"),
    ],
)
def test_answers_that_contradict_themselves_are_named(change: Any, problem: str) -> None:
    columns = {"query": ["late parcel"]}
    answers = by_words().predict(columns)
    assert check_answers(columns, {}, answers | change) == [f"row 0: {problem}"]
