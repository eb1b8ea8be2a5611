"""What is guessed of a file's columns, and what is said where nothing can be."""

import json
from pathlib import Path

import pandas as pd
import pytest

from plumbline.contract.errors import DataError
from plumbline.init.survey import FileSurvey, inspect_file

CLASSES = ("billing", "delivery", "login")


def make_rows(num_rows: int = 60) -> list[dict[str, str]]:
    return [
        {
            "ticket": str(row),
            "body": f"please help me with question number {row}, it is about my parcel",
            "queue": CLASSES[row % 3],
        }
        for row in range(num_rows)
    ]


def write_csv(path: Path, rows: list[dict[str, str]], delimiter: str = ",") -> Path:
    pd.DataFrame(rows).to_csv(path, sep=delimiter, index=False)
    return path


def check(survey: FileSurvey) -> None:
    assert (survey.text, survey.labels) == ("body", ["queue"])
    assert (survey.others, survey.groups) == (["ticket"], [])
    assert survey.num_rows == 60
    assert not survey.has_label_sets
    assert survey.classes == dict.fromkeys(CLASSES, 20)
    assert survey.lengths == [13] * 60
    assert survey.english > 0.2


def test_text_and_label_are_guessed(tmp_path: Path) -> None:
    check(inspect_file(write_csv(tmp_path / "a.csv", make_rows()), None, []))
    check(inspect_file(write_csv(tmp_path / "b.csv", make_rows(), ";"), None, []))


def test_a_column_of_a_usual_name_is_preferred_and_a_named_one_is_taken(tmp_path: Path) -> None:
    rows = [row | {"label": str(number % 2)} for number, row in enumerate(make_rows())]
    path = write_csv(tmp_path / "a.csv", rows)
    assert inspect_file(path, None, []).labels == ["label"]
    assert inspect_file(path, None, ["queue"]).labels == ["queue"]


def refuse(path: Path, text: str | None = None, label: str | None = None) -> str:
    with pytest.raises(DataError) as refused:
        inspect_file(path, text, [label] if label else [])
    return str(refused.value)


def test_a_text_of_one_word_or_without_blanks_is_guessed_by_the_name_of_its_column(
    tmp_path: Path,
) -> None:
    rows = [
        {"text": f"我的包裹在哪里{row}", "other": f"x{row}", "topic": CLASSES[row % 3]}
        for row in range(60)
    ]
    survey = inspect_file(write_csv(tmp_path / "a.csv", rows), None, [])
    assert (survey.text, survey.labels) == ("text", ["topic"])
    unnamed = [{"a": row["text"], "topic": row["topic"]} for row in rows]
    assert "no column can be the text" in refuse(write_csv(tmp_path / "b.csv", unnamed))


def test_columns_that_cannot_be_told_apart_are_listed(tmp_path: Path) -> None:
    rows = [
        {"queue": row["queue"], "request": row["body"], "team": str(number % 4)}
        | {"answer": f"we look at parcel {number}", "price": f"{number} €"}
        for number, row in enumerate(make_rows())
    ]
    message = refuse(write_csv(tmp_path / "a.csv", rows))
    for said in ("be the text", "'answer' (60 values", "be the label", "'team' (4", "--label COL"):
        assert said in message  # both at once
    assert "price" not in message  # no words


@pytest.mark.parametrize(("other", "role"), [("body", "label"), ("queue", "text")])
def test_a_file_without_a_text_or_a_label_is_refused(other: str, role: str, tmp_path: Path) -> None:
    rows = [{key: row[key] for key in ("ticket", other)} for row in make_rows()]
    message = refuse(write_csv(tmp_path / "a.csv", rows))
    assert f"no column can be the {role}" in message
    assert "'ticket' (60 values" in message


def test_a_file_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path) -> None:
    assert "cannot be read (No such file" in refuse(tmp_path / "a.csv")
    assert "a folder; name a file of texts and labels" in refuse(tmp_path)
    (tmp_path / "empty.csv").touch()
    assert "empty" in refuse(tmp_path / "empty.csv")
    (tmp_path / "a.xlsx").touch()
    assert "no reader for .xlsx" in refuse(tmp_path / "a.xlsx")
    (tmp_path / "one.csv").write_text("text\nhello there\n")
    assert "1 columns" in refuse(tmp_path / "one.csv")
    (tmp_path / "twice.csv").write_text("text,label,text,day,x\nhello,a,there,1,2\n")
    named = "; several columns are called 'text': rename all but one"
    for options in (None, "text"), ("text", "label"), (None, "label"):
        assert named in refuse(tmp_path / "twice.csv", *options)
    (tmp_path / "pair.csv").write_text("text,label,text\nhello,a,there\n")
    assert named in refuse(tmp_path / "pair.csv")
    (tmp_path / "none.csv").write_text("text,label\n")
    assert "no rows" in refuse(tmp_path / "none.csv")
    path = write_csv(tmp_path / "a.csv", make_rows())
    assert "--label team: no such column; found: ticket, body, queue" in refuse(path, None, "team")
    assert "queue is named as text and as label" in refuse(path, "queue", "queue")


@pytest.mark.parametrize("value", ["", " "])
def test_a_named_column_without_values_is_refused(tmp_path: Path, value: str) -> None:
    path = write_csv(tmp_path / "a.csv", [row | {"empty": value} for row in make_rows()])
    said = "empty: the column is empty in all 60 rows; fill it, or name another column"
    assert f"a.csv: --text {said}" in refuse(path, "empty", "queue")
    assert f"a.csv: --label {said}" in refuse(path, "body", "empty")


def test_a_named_label_column_may_be_called_as_a_class_is(tmp_path: Path) -> None:
    rows = [{"text": row["body"], "spam": "spam" if number % 3 else "ham"}
            for number, row in enumerate(make_rows())]  # fmt: skip
    path = write_csv(tmp_path / "a.csv", rows)
    assert inspect_file(path, "text", ["spam"]).classes == {"ham": 20, "spam": 40}
    message = refuse(path, "text")
    assert "no line with the names of the columns: 'spam'" in message
    assert "--label spam" in message


SETS = [["billing"], ["login", "billing"], ["delivery"], ["login"], ["delivery", "login"], []]


def write_sets(path: Path, cells: list[str]) -> Path:
    rows = make_rows()
    return write_csv(path, [row | {"queue": cells[i % len(cells)]} for i, row in enumerate(rows)])


@pytest.mark.parametrize("separator", ["|", " ; ", ", ", None])
def test_cells_with_several_labels_are_seen(tmp_path: Path, separator: str | None) -> None:
    cells = [json.dumps(labels) for labels in SETS]
    if separator is not None:
        cells = [separator.join(labels) or "(none)" for labels in SETS]
    survey = inspect_file(write_sets(tmp_path / "a.csv", cells), None, [])
    assert (survey.labels, survey.separator) == (["queue"], (separator or "|").strip())
    assert survey.classes == {"billing": 20, "login": 30, "delivery": 20}
    assert survey.label_sets[("billing", "login")] == 10
    assert survey.label_sets[()] == 10
    assert survey.majority == pytest.approx(1 / 6)


def test_lists_of_labels_are_seen_in_other_formats(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [row | {"queue": SETS[number % 6]} for number, row in enumerate(make_rows())]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.parquet"):
        survey = inspect_file(tmp_path / name, None, [])
        assert (survey.labels, survey.separator) == (["queue"], "|")
        assert survey.label_sets[("billing", "login")] == 10


@pytest.mark.parametrize(
    "cells",
    [
        ["a|b", "c", "d"],  # a name that has the sign in it
        ["Billing, Payments", "Login", "Parcels, Letters"],
        ["phones", "phones|cables", "phones|cases", "music", "music|strings"],  # paths
        ["high|billing", "low|billing", "high|login", "low|login"],  # two attributes
        ["1", "2", "3", "1,5", "2,5", "5"],  # a decimal comma
        ["['a']", "['b']", "['a', 'b']"],  # no JSON
        ["a", "b", "a|", "b|"],
    ],
)
def test_a_label_that_does_not_combine_is_one_label(tmp_path: Path, cells: list[str]) -> None:
    survey = inspect_file(write_sets(tmp_path / "a.csv", cells), None, [])
    assert survey.separator is None
    assert set(survey.classes) == set(cells)


def test_labels_that_are_never_alone_are_seen_by_their_places(tmp_path: Path) -> None:
    names = "abcdefghij"
    cells = [f"{one}|{other}" for i, one in enumerate(names) for other in names[i + 1 :]]
    assert inspect_file(write_sets(tmp_path / "a.csv", cells), None, []).separator == "|"


def test_more_sets_than_classes_may_be_are_guessed_by_their_labels(tmp_path: Path) -> None:
    rows = make_rows(600)
    names = [f"label {number}" for number in range(40)]
    for number, row in enumerate(rows):
        labels = [names[number % 40], names[number // 15], names[number % 7]]
        row["queue"] = "|".join(dict.fromkeys(labels))
    survey = inspect_file(write_csv(tmp_path / "a.csv", rows), None, [])
    assert (survey.labels, survey.separator) == (["queue"], "|")
    assert set(survey.classes) == set(names)


def test_a_column_of_one_label_is_preferred_to_one_of_sets(tmp_path: Path) -> None:
    cells = ["|".join(labels) or "(none)" for labels in SETS]
    rows = [row | {"marks": cells[i % len(cells)]} for i, row in enumerate(make_rows())]
    survey = inspect_file(write_csv(tmp_path / "a.csv", rows), None, [])
    assert (survey.labels, survey.separator) == (["queue"], None)


def test_what_separates_labels_can_be_said(tmp_path: Path) -> None:
    path = write_sets(tmp_path / "a.csv", ["a/b", "a", "b"])
    assert inspect_file(path, None, [], "/").classes == {"a": 40, "b": 40}
    path = write_sets(tmp_path / "b.csv", ["a|b", "a", "b"])
    assert inspect_file(path, None, [], "").classes == {"a|b": 20, "a": 20, "b": 20}


def write_flags(path: Path, names: list[str]) -> Path:
    rows = [
        {key: row[key] for key in ("ticket", "body")}
        | {name: str(int(name in SETS[i % len(SETS)])) for name in names}
        for i, row in enumerate(make_rows())
    ]
    return write_csv(path, rows)


def test_columns_that_say_yes_or_no_are_a_label_each(tmp_path: Path) -> None:
    path = write_flags(tmp_path / "a.csv", ["login", "billing", "delivery"])
    assert "or each of several that say 1 or 0: --label A --label B" in refuse(path)
    survey = inspect_file(path, None, ["login", "billing", "delivery"])
    assert (survey.labels, survey.separator) == (["login", "billing", "delivery"], None)
    assert survey.has_label_sets
    assert survey.label_sets[("billing", "login")] == 10
    assert inspect_file(path, None, ["login"]).classes == {"0": 30, "1": 30}


def test_a_cell_that_ingest_would_refuse_is_named(tmp_path: Path) -> None:
    path = write_sets(tmp_path / "a.csv", ["a|b", "a", "b", "a||b"])
    with pytest.raises(DataError, match=r"a\.csv:5: 'a\|\|b' has a label that is empty"):
        inspect_file(path, None, ["queue"], "|")


def write_pairs(path: Path, query: str, passage: str, **more: str) -> Path:
    rows = [
        {passage: f"Send parcel {row // 2} back to us and wait.", query: f"where is it {row}"}
        for row in range(60)
    ]
    pd.DataFrame(rows).assign(**more).to_json(path, orient="records", lines=True)
    return path


def test_two_texts_without_a_label_are_queries_and_passages(tmp_path: Path) -> None:
    for names in (("query", "passage"), ("asked", "reply"), ("Question", "Answer")):
        survey = inspect_file(write_pairs(tmp_path / "a.jsonl", *names), None, [])
        assert (survey.text, survey.passage) == names
        assert (survey.labels, survey.lengths[-1]) == ([], 9)
    path = write_pairs(tmp_path / "b.jsonl", "asked", "reply", other="a text with words")
    survey = inspect_file(path, "asked", [], passage="other")
    assert (survey.text, survey.passage, survey.others) == ("asked", "other", ["reply"])
    with pytest.raises(DataError, match="name its queries with --text"):
        inspect_file(path, "asked", ["reply"], passage="other")
    path = write_pairs(tmp_path / "a.jsonl", "anchor", "positive", negative="it is another one")
    survey = inspect_file(path, None, [])
    assert (survey.passage, survey.negative, survey.others) == ("positive", "negative", [])


def test_a_folder_of_judged_passages_is_a_search(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    for name, text in (("corpus", "wait for the parcel"), ("queries", "where is it")):
        texts = [{"_id": f"{row}", "text": f"{text} {row}", "metadata": {}} for row in range(9)]
        pd.DataFrame(texts).to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True)
    judged = pd.DataFrame({"query-id": [1, 1, 2], "corpus-id": [3, 4, 5], "score": 1})
    judged.to_csv(tmp_path / "qrels/train.tsv", sep="\t", index=False)
    survey = inspect_file(tmp_path, None, [])
    assert (survey.passage, survey.num_rows, survey.lengths[-1]) == ("passage", 2, 5)
    judged.assign(**{"query-id": [6, 7, 8]}).to_csv(tmp_path / "qrels/test.tsv", sep="\t")
    survey = inspect_file(tmp_path, None, [])
    assert (survey.num_rows, survey.held_out) == (2, {"test": 3})  # 2 are those of train
    judged.to_csv(tmp_path / "qrels/dev.tsv", sep="\t")
    assert inspect_file(tmp_path, None, []).held_out == {"test": 3, "validation": 2}
    (tmp_path / "qrels/train.tsv").unlink()
    with pytest.raises(DataError, match=r"train\.tsv is missing"):
        inspect_file(tmp_path, None, [])
    with pytest.raises(DataError, match="a folder; name a file"):
        inspect_file(tmp_path, "text", [])


def test_a_label_of_a_usual_name_makes_a_classifier_of_two_texts(tmp_path: Path) -> None:
    rows = [row | {"query": f"where is {row['ticket']}", "answer": "x"} for row in make_rows()]
    path = write_csv(tmp_path / "a.csv", [row | {"intent": row["queue"]} for row in rows])
    survey = inspect_file(path, None, [])
    assert (survey.labels, survey.passage) == (["intent"], None)
