"""The metric counts what a user reads, over the whole corpus; cheats and chance are seen."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.small_retrieval import build_params
from tests.support.task_examples import write_examples

from plumbline.process.files import write_json
from tasks.retrieval.data.storage import digest_text, read_corpus, read_queries
from tasks.retrieval.params import RetrievalParams
from tasks.retrieval.predictor import LexicalIndex
from tasks.retrieval.predictor import Predictor as Search
from tasks.retrieval.ranking import DEPTH, compute_ndcg, mark_gains
from tasks.retrieval.scoring import (
    build_baselines,
    check_behaviour,
    compute_bound,
    find_unknown,
    score,
    score_answer,
)


class Known:
    """Answers each query of a table with the passages that a function makes of the right ones."""

    forms = ("fp32",)

    def __init__(self, examples: Path, answer: Any) -> None:
        rows = read_queries(examples, "test")
        self._right = dict(zip(rows["query"], rows["passages"], strict=True))
        self._answer = answer

    def predict(self, columns: Any, **params: Any) -> dict[str, list[Any]]:
        """Answer every row."""
        rows = [self._answer(list(self._right[query])) for query in columns["query"]]
        return {"id": [row[0] for row in rows], "ids": rows}


@pytest.fixture(scope="module")
def params() -> RetrievalParams:
    return build_params()


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, params: RetrievalParams) -> Path:
    return write_examples(params, tmp_path_factory.mktemp("retrieval"))


def rate(ids: list[str], grades: dict[str, int]) -> float:
    return float(compute_ndcg(mark_gains(ids, grades)[None], [grades])[0])


def test_ndcg_is_that_of_the_definition() -> None:
    assert rate(["a", "b", "c"], {"b": 1}) == pytest.approx(1 / np.log2(3))
    two = 1 + 1 / np.log2(3)
    assert rate(["a", "b", "c"], {"a": 1, "c": 1}) == pytest.approx((1 + 0.5) / two)
    assert rate(["a", "b", "c"], {"b": 2, "a": 1}) == pytest.approx(
        (1 + 2 / np.log2(3)) / (2 + 1 / np.log2(3))
    )
    names = [f"p{number}" for number in range(20)]
    assert rate(names, {"p10": 1}) == 0
    assert rate(names, dict.fromkeys(names[:15], 1)) == pytest.approx(1)
    assert len(mark_gains(names, {})) == DEPTH


def test_a_live_answer_is_right_by_the_id_of_the_passage_or_its_text() -> None:
    own = digest_text("Send it back.")[:16]
    answer = {"id": own, "ids": [own, "p1"], "texts": []}
    found = [score_answer(answer, truth) for truth in (own, " Send it back. ", "p1", "other")]
    assert found == [1, 1, 0, 0]
    assert score_answer({"id": "7", "texts": ["Send it back."]}, "Send it back.") == 1
    assert [score_answer({"id": "7", "texts": []}, each) for each in (" 7", "7.0", "70")] == [
        1,
        1,
        0,
    ]
    with pytest.raises(ValueError, match="a passage, or its id"):
        score_answer(answer, "")


def test_right_answers_have_all_scores(examples: Path) -> None:
    metrics = score(examples, "test", Known(examples, lambda right: right)).metrics
    assert metrics["ndcg_at_10"] == pytest.approx(1)
    assert metrics["mrr_at_10"] == metrics["accuracy"] == metrics["recall_at_10"] == 1
    second = Known(examples, lambda right: ["none", *right])
    metrics = score(examples, "test", second).metrics
    assert metrics["mrr_at_10"] == pytest.approx(0.5)
    assert metrics["recall_at_1"] == metrics["accuracy"] == 0


def test_a_champion_is_compared_on_the_corpus_of_today(examples: Path) -> None:
    corpus = read_corpus(examples)

    def search(size: int) -> Search:
        ids, texts = corpus.ids[:size], corpus.texts[:size]
        index = LexicalIndex(texts, 1.2, 0.75)
        return Search({"ids": ids, "texts": texts}, index, None, None, 4000)

    few, whole = (score(examples, "test", search(size)) for size in (200, len(corpus.ids)))
    assert few.metrics == whole.metrics
    changed = search(len(corpus.ids)).search_corpus({"ids": ["p"], "texts": [corpus.texts[0]]})
    assert changed.predict({"query": [corpus.texts[0]]})["ids"] == [["p"]]


def test_a_person_reads_what_was_found_and_what_was_right(examples: Path) -> None:
    found = score(examples, "test", Known(examples, lambda right: ["none", *right]))
    rows, corpus = read_queries(examples, "test"), read_corpus(examples)
    texts = dict(zip(corpus.ids, corpus.texts, strict=True))
    first = texts[rows["passages"][0][0]]
    assert found.per_example["actual"][0] == first[: len(found.per_example["actual"][0])]
    assert set(found.per_example["found"]) == {""}
    by_overlap = found.tables["overlap"]
    assert list(by_overlap["overlap"]) == ["low", "middle", "high", "verbatim"]
    assert by_overlap["queries"].sum() == len(rows)
    assert (by_overlap["low"] <= by_overlap["ndcg_at_10"]).all()


def test_a_passage_that_is_answered_twice_counts_for_nothing(examples: Path) -> None:
    twice = Known(examples, lambda right: [right[0], right[0]])
    with pytest.raises(ValueError, match="an answer has a passage twice"):
        score(examples, "test", twice)


def test_chance_finds_nearly_nothing_and_words_find_some(
    examples: Path, params: RetrievalParams
) -> None:
    baselines = build_baselines(params, examples)
    assert list(baselines) == ["random", "bm25"]
    found = {
        name: score(examples, "test", each).metrics["ndcg_at_10"]
        for name, each in baselines.items()
    }
    assert found["random"] < 0.05 < 0.15 < found["bm25"]
    assert found["bm25"] < compute_bound(params, examples, "test").limit


def test_what_may_win_without_learning_needs_not_be_beaten(
    examples: Path, params: RetrievalParams
) -> None:
    limits = params.evaluation.model_copy(update={"simple_candidate": "bm25"})
    simple = params.model_copy(update={"evaluation": limits})
    assert list(build_baselines(simple, examples)) == ["random"]


def test_the_bound_is_that_of_wrong_passages(tmp_path: Path, params: RetrievalParams) -> None:
    settings = params.data.generated.model_copy(update={"wrong_share": 1.0})
    data = params.data.model_copy(update={"generated": settings})
    wrong = params.model_copy(update={"data": data})
    assert compute_bound(wrong, tmp_path, "test").limit == pytest.approx(1 / np.log2(3))
    own = params.model_copy(update={"data": params.data.model_copy(update={"generated": None})})
    assert compute_bound(own, tmp_path, "test").limit is None


def test_a_search_by_words_knows_the_obvious(examples: Path, params: RetrievalParams) -> None:
    cases = check_behaviour(params, examples, build_baselines(params, examples)["bm25"])
    shares = {case.name: case.num_passed / case.num_cases for case in cases}
    assert shares["upper case"] == shares["a question mark"] == 1
    assert shares["its own first sentence"] > 0.9
    assert shares["a slip of the keyboard"] > 0.5


def test_one_answer_for_all_does_not_know_it(examples: Path, params: RetrievalParams) -> None:
    ids = read_corpus(examples).ids

    class Constant:
        forms = ("fp32",)

        def predict(self, columns: Any, **params: Any) -> dict[str, list[Any]]:
            """Answer every row."""
            same = [[ids[0]] for _ in columns["query"]]
            return {"id": [ids[0]] * len(same), "ids": same, "vector": [[3.0]] * len(same)}

    own, *_, lengths = check_behaviour(params, examples, Constant())
    assert own.num_passed <= 1
    assert lengths.num_passed == 0


def test_passages_that_all_begin_alike_are_asked_by_no_sentence(
    tmp_path: Path, examples: Path, params: RetrievalParams
) -> None:
    shutil.copytree(examples, tmp_path, dirs_exist_ok=True)
    corpus = read_corpus(tmp_path)
    texts = [f"Question:\n{text}" for text in corpus.texts]
    pd.DataFrame({"id": corpus.ids, "text": texts}).to_parquet(tmp_path / "corpus.parquet")
    search = build_baselines(params, tmp_path)["bm25"]
    own, *_ = check_behaviour(params, tmp_path, search)
    assert own.num_cases == 0


def test_a_list_begins_with_the_answer_that_is_given_alone(
    examples: Path, params: RetrievalParams
) -> None:
    search = build_baselines(params, examples)["bm25"]

    class WorstFirst:
        forms = ("fp32",)

        def predict(self, columns: Any, **params: Any) -> dict[str, list[Any]]:
            """Answer every row."""
            answers = search.predict(columns, **params)
            answers["ids"] = [ids[::-1] for ids in answers["ids"]]
            return answers | {"id": [ids[0] if ids else "" for ids in answers["ids"]]}

    _, upper_case, *_ = check_behaviour(params, examples, WorstFirst())
    assert upper_case.num_passed < upper_case.num_cases / 2


def test_labels_that_are_no_passage_are_told_from_misspelt_ones(tmp_path: Path) -> None:
    write_json(tmp_path / "corpus.json", {"ids": ["12", "B7"], "texts": ["Call us.", "Write."]})
    assert find_unknown(["12", "12.0", " B7", "Write.", "Call us."], tmp_path) == {}
    found = find_unknown(["b7", "CALL US", "no such text"], tmp_path)
    assert found == {"b7": "B7", "CALL US": "Call us.", "no such text": ""}
