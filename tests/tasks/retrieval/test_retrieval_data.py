"""Pairs become a corpus and splits whose rows are independent; what cannot be meant is refused."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError
from tests.support.small_retrieval import build_params, describe_file, list_pairs, values
from tests.support.task_examples import write_examples

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.process.files import digest_path
from tasks.retrieval.data import find_splits, list_rows, shuffle_labels
from tasks.retrieval.data import ingest as write_data
from tasks.retrieval.data.pairs import Pair
from tasks.retrieval.data.pooling import pool_pairs
from tasks.retrieval.data.storage import read_corpus, read_queries
from tasks.retrieval.expectations import find_leaks
from tasks.retrieval.params import RetrievalParams
from tasks.retrieval.predictor import list_words


def write_pairs(folder: Path, rows: list[dict[str, Any]], name: str = "pairs.csv") -> str:
    path = folder / "data/raw" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(rows)
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_json(path, orient="records", lines=True)
    return f"data/raw/{name}"


def ingest(folder: Path, **data: Any) -> dict[str, pd.DataFrame]:
    examples = write_examples(build_params(**data), folder / "out")
    return {split: read_queries(examples, split) for split in SPLITS}


def list_notices(examples: Path, **data: Any) -> list[str]:
    facts = write_data(build_params(**data), examples, examples / "manifest.parquet")
    found: list[str] = facts["notices"]
    return found


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.jsonl", "pairs.parquet"])
def test_pairs_of_every_layout_are_the_same(folder: Path, name: str) -> None:
    found = ingest(folder, **describe_file(write_pairs(folder, list_pairs(60), name)))
    asked = {query for rows in found.values() for query in rows["query"]}
    assert asked == {row["query"] for row in list_pairs(60)}
    assert len(read_corpus(folder / "out/examples").ids) == 60


def test_a_query_in_several_rows_has_several_passages(folder: Path) -> None:
    rows = [*list_pairs(60), {"query": "Where is  PARCEL 0", "passage": "Another one."}]
    found = ingest(folder, **describe_file(write_pairs(folder, rows)))
    numbers = [len(passages) for table in found.values() for passages in table["passages"]]
    assert sorted(numbers)[-2:] == [1, 2]


def test_signs_that_mean_something_tell_queries_apart(folder: Path) -> None:
    asked = ["is -5 cold", "is 5 cold", "Is 5 cold?", "what is C++", "what is C#"]
    rows = [{"query": query, "passage": f"About {query}."} for query in asked]
    source = describe_file(write_pairs(folder, [*list_pairs(60), *rows]))
    assert sum(len(table) for table in ingest(folder, **source).values()) == 64
    assert list_notices(folder, **source) == [
        "1 queries differ from an earlier one only in capitals or punctuation: they are one"
    ]


def test_new_passages_are_asked_for_once_and_known_ones_by_every_query(folder: Path) -> None:
    rows = list_pairs(60)
    rows += [row | {"query": f"tell me {row['query']}"} for row in rows]
    source = describe_file(write_pairs(folder, rows))
    by_query = ingest(folder, **source)
    assert sum(map(len, by_query.values())) == 120
    answers = by_query["test"]["passages"].map(tuple)
    assert answers.duplicated().any()
    split = {"by": "passage", "validation": 0.2, "test": 0.3}
    by_passage = ingest(folder / "again", **source, split=split)
    held_out = [id_ for name in SPLITS[1:] for ids in by_passage[name]["passages"] for id_ in ids]
    assert len(set(held_out)) == len(held_out)
    known = {id_ for ids in by_passage["train"]["passages"] for id_ in ids}
    assert not known.intersection(held_out)


@pytest.fixture
def judged(folder: Path) -> Path:
    """A folder of 60 queries as BEIR lays them out; queries 0 to 19 are test."""
    path = folder / "data/raw/judged"
    pairs = list_pairs(60)
    passages = [
        {"_id": f"d{number}", "title": f"Page {number}", "text": pair["passage"]}
        for number, pair in enumerate(pairs)
    ]
    passages.append({"_id": "empty", "title": "", "text": " "})
    write_pairs(folder, passages, "judged/corpus.jsonl")
    asked = [{"_id": f"q{number}", "text": pair["query"]} for number, pair in enumerate(pairs)]
    write_pairs(folder, asked, "judged/queries.jsonl")
    (path / "qrels").mkdir()
    for name, numbers in (("test", range(20)), ("train", range(20, 60))):
        rows = [f"q{number}\td{number}\t2\nq{number}\td{59 - number}\t0" for number in numbers]
        rows[0] += f"\nq{numbers[0]}\td40\t1\nq{numbers[0]}\tempty\t1"
        rows.append("q0\td50\t1" if name == "train" else "q1\td1\t1")
        text = "\n".join(["query-id\tcorpus-id\tscore", *rows])
        (path / f"qrels/{name}.tsv").write_text(text, encoding="utf-8")
    return path


def test_a_folder_of_judgements_keeps_its_test_split_and_grades(folder: Path, judged: Path) -> None:
    source = describe_file("data/raw/judged")
    found = ingest(folder, **source)
    test = found["test"].set_index("query")
    assert set(test.index) == {pair["query"] for pair in list_pairs(20)}
    first = test.loc["where is parcel 0"]
    assert dict(zip(first["passages"], first["grades"], strict=True)) == {"d0": 2, "d40": 1}
    assert list(first["negatives"]) == ["d59"]
    (notice,) = list_notices(folder, **source)[1:]
    assert notice.startswith("1 judgements and chosen labels are left out, as another split")
    assert len(found["train"]) + len(found["validation"]) == 40
    assert find_splits(build_params(**source), {"query": ["where is parcel 0"]}) == [None]
    assert read_corpus(folder / "out/examples").texts[0].startswith("Page 0 The parcel")
    (judged / "qrels/train.tsv").unlink()
    with pytest.raises(DataError, match=r"no train.tsv, of which the other splits are taken"):
        ingest(folder / "again", **describe_file("data/raw/judged"))


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("test", "q1\td99\t1", "corpus.jsonl has no _id d99"),
        ("test", "q99\td1\t1", "queries.jsonl has no _id q99"),
        ("test", "q1\td1\t0.5", "score '0.5'; expected a whole number"),
        ("final", "q1\td1\t1", "qrels: final.tsv; expected test, dev"),
    ],
)
def test_no_such_judgement(folder: Path, judged: Path, name: str, row: str, message: str) -> None:
    with (judged / f"qrels/{name}.tsv").open("a") as file:
        file.write(f"\n{row}\n")
    with pytest.raises(DataError, match=message):
        ingest(folder, **describe_file("data/raw/judged"))


def test_negatives_are_searched_and_never_right_answers(folder: Path) -> None:
    rows = [row | {"negative": f"Nothing of {n}."} for n, row in enumerate(list_pairs(60))]
    rows.append(rows[0] | {"passage": "Another one.", "negative": rows[0]["passage"]})
    found = ingest(folder, **describe_file(write_pairs(folder, rows), negative="negative"))
    corpus = read_corpus(folder / "out/examples")
    texts = dict(zip(corpus.ids, corpus.texts, strict=True))
    assert len(texts) == 121
    for table in found.values():
        for query, negatives in zip(table["query"], table["negatives"], strict=True):
            number = query.rpartition(" ")[2]
            assert [texts[id_] for id_ in negatives] == [f"Nothing of {number}."]


def test_labels_of_answers_that_somebody_chose_are_in_train_alone(folder: Path) -> None:
    pairs = list_pairs(60)
    source = describe_file(write_pairs(folder, pairs))
    before = ingest(folder, **source)
    held_out, id_ = before["test"]["query"][0], read_corpus(folder / "out/examples").ids[0]
    chosen = [{"query": f"a new one {number}", "passage": id_} for number in range(30)]
    chosen.append({"query": held_out.upper(), "passage": id_})
    write_pairs(folder, chosen, "outcomes-chosen-2026-11-28.csv")
    uniform = [{"query": "another question", "passage": id_}]
    write_pairs(folder, uniform, "outcomes-uniform-2026-11-28.csv")
    after = ingest(folder / "again", **source | {"source": "data/raw/*"})
    then, now = (found["test"][["query", "passages"]].map(str) for found in (before, after))
    assert then.equals(now)
    assert after["train"]["query"].str.startswith("a new one").sum() == 30
    assert len(read_corpus(folder / "again/out/examples").ids) == 60


def test_labels_of_answers_are_ids_as_a_table_writes_them_or_said_to_be_new(folder: Path) -> None:
    rows = [row | {"key": str(number)} for number, row in enumerate(list_pairs(60))]
    write_pairs(folder, rows)
    told = {"12.0": "how about a", "012": "how about b", rows[3]["passage"]: "how about c"}
    labels = [{"query": query, "passage": label} for label, query in told.items()]
    write_pairs(folder, labels, "outcomes-uniform-2026-11-28.csv")
    source = describe_file("data/raw/*", passage_id="key")
    found = ingest(folder, **source)
    assert {*read_corpus(folder / "out/examples").texts} == {row["passage"] for row in rows} | {
        "012"
    }
    right = pd.concat(found.values()).set_index("query")["passages"]
    assert (right["how about a"], right["how about c"]) == (["12"], ["3"])
    assert list_notices(folder, **source) == [
        "1 labels of answers are neither an id nor a known text: each became a passage, "
        "such as '012'"
    ]


def test_queries_of_equal_words_are_one(folder: Path) -> None:
    rows = [*list_pairs(60), {"query": "Where is: parcel 0?", "passage": "Another one."}]
    rows += [{"query": f"What is C{sign}?", "passage": f"It is C{sign}."} for sign in ("++", "#")]
    source = describe_file(write_pairs(folder, rows))
    found = ingest(folder, **source)
    assert sum(map(len, found.values())) == 62
    for split, table in found.items():
        for queries in (table["query"], " " + table["query"].str.upper() + " ?"):
            assert set(find_splits(build_params(**source), {"query": queries})) == {split}


def test_equal_passages_are_one_whatever_their_ids(folder: Path) -> None:
    rows = [row | {"key": str(number)} for number, row in enumerate(list_pairs(60))]
    rows.append({"query": "the same again", "passage": rows[3]["passage"], "key": "999"})
    ingest(folder, **describe_file(write_pairs(folder, rows), passage_id="key"))
    assert {*read_corpus(folder / "out/examples").ids} == {f"{number}" for number in range(60)}
    rows[-1] |= {"passage": "another text", "key": "3"}
    with pytest.raises(DataError, match="the passage 3 has another text in an earlier row"):
        ingest(folder / "other", **describe_file(write_pairs(folder, rows), passage_id="key"))


def test_a_corpus_adds_passages_to_search(folder: Path) -> None:
    corpus = write_pairs(folder, [{"passage": f"spare {number}"} for number in range(9)], "all.csv")
    source = describe_file(write_pairs(folder, list_pairs(60)))
    pins = {path: digest_path(Path(path)) for path in (corpus, source["source"])}
    ingest(folder, **source, corpus=corpus, sha256=pins)
    assert len(read_corpus(folder / "out/examples").ids) == 69


@pytest.mark.parametrize(("name", "empty"), [("query", " "), ("passage", None)])
def test_a_row_that_lacks_something_is_named(folder: Path, name: str, empty: Any) -> None:
    row = {"query": "x", "passage": "x"} | {name: empty}
    source = describe_file(write_pairs(folder, [*list_pairs(60), row]))
    with pytest.raises(DataError, match=f"pairs.csv:62: {name} is empty; complete the row"):
        ingest(folder, **source)


def test_generated_queries_leak_nothing_and_say_what_they_share(tmp_path: Path) -> None:
    params = build_params()
    examples = write_examples(params, tmp_path)
    assert all(leak.num_leaked == 0 for leak in find_leaks(params, examples))
    rows = list_rows(examples, "test")
    assert set(rows["overlap"]) == {"low", "middle", "high", "verbatim"}
    assert set(rows["passage"]) == {"known", "new"}
    for split in SPLITS[1:]:
        passages = [id_ for ids in read_queries(examples, split)["passages"] for id_ in ids]
        assert len(set(passages)) == len(passages)


def test_a_query_of_test_in_train_is_a_leak(folder: Path) -> None:
    examples = write_examples(build_params(), folder)
    test, train = read_queries(examples, "test"), read_queries(examples, "train")
    copied = test.head(3).assign(id=["train:900", "train:901", "train:902"])
    queries = copied["query"]
    more = "good morning, what a fine day it is: " + queries + " many thanks for any help"
    for kind, query in {"exact": queries.str.upper() + "!!", "near": more}.items():
        rows = pd.concat([train, copied.assign(query=query)], ignore_index=True)
        rows.to_parquet(examples / "train.parquet")
        leaks = find_leaks(build_params(), examples)
        (found,) = (leak for leak in leaks if (leak.kind, leak.split) == (kind, "test"))
        long = sum(len(list_words(each)) >= 8 for each in queries)
        assert found.num_leaked == (3 if kind == "exact" else long)


def test_shuffled_passages_are_those_of_other_queries(tmp_path: Path) -> None:
    examples = write_examples(build_params(), tmp_path)
    (tmp_path / "shuffled").mkdir()
    shuffle_labels(examples, tmp_path / "shuffled", 1, 50)
    found, own = (read_queries(each, "train") for each in (tmp_path / "shuffled", examples))
    assert len(found) == 50
    assert not (tmp_path / "shuffled/test.parquet").exists()
    pairs = zip(found["passages"], own["passages"].head(50), strict=True)
    assert sum(set(a) == set(b) for a, b in pairs) < 5


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("data.generated", None, "generated: is set where source is"),
        ("data.source", "elsewhere/pairs.csv", "generated: is set where source is"),
        ("data.split.test", 0.6, "less than 0.5"),
        ("control.candidates", ["bm25"], "bm25 learns from no pair"),
        ("evaluation.simple_candidate", "bm25", "simple_candidate is not trained"),
    ],
)
def test_params_that_cannot_be_meant(path: str, value: Any, message: str) -> None:
    found = values()
    found["control"]["candidates"] = ["bm25"]
    *parents, key = path.split(".")
    place = found
    for parent in parents:
        place = place[parent]
    place[key] = value
    with pytest.raises(ValidationError, match=message):
        RetrievalParams.model_validate(found)


def test_a_source_outside_of_what_dvc_compares_is_refused() -> None:
    with pytest.raises(ValidationError, match="is not inside watch"):
        build_params(**describe_file("elsewhere/pairs.csv"))


def test_a_label_may_be_an_id_that_an_earlier_equal_text_does_not_have() -> None:
    pairs = [
        Pair("a:1", "P one", "q one", negative="P two"),
        Pair("a:2", "P two", "q two", passage_id="2"),
        Pair("b:1", "2", "q three", is_label=True),
    ]
    texts, queries = pool_pairs(pairs, defaultdict(list))
    assert sorted(texts.values()) == ["P one", "P two"]
    assert [texts[query.passages[0]] for query in queries] == ["P one", "P two", "P two"]
