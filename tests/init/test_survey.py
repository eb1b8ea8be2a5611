"""What is guessed of a file's columns, and what is said where nothing can be."""

import csv
import json
from pathlib import Path

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
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def check(survey: FileSurvey) -> None:
    assert (survey.text, survey.label, survey.others) == ("body", "queue", ["ticket"])
    assert survey.num_rows == 60
    assert survey.classes == dict.fromkeys(CLASSES, 20)
    assert survey.lengths == [13] * 60
    assert survey.english > 0.2


def test_text_and_label_are_guessed(tmp_path: Path) -> None:
    check(inspect_file(write_csv(tmp_path / "a.csv", make_rows()), None, None))
    check(inspect_file(write_csv(tmp_path / "b.csv", make_rows(), ";"), None, None))


def test_other_formats_are_read(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = make_rows()
    lines = [json.dumps(row | {"nested": [1]}) for row in rows]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    check(inspect_file(tmp_path / "a.jsonl", None, None))
    table = pa.Table.from_pylist([row | {"nested": [1]} for row in rows])
    pq.write_table(table, tmp_path / "a.parquet")
    check(inspect_file(tmp_path / "a.parquet", None, None))
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as file:
        file.write_table(table)
    check(inspect_file(tmp_path / "a.arrow", None, None))


def test_a_column_of_a_usual_name_is_preferred_and_a_named_one_is_taken(tmp_path: Path) -> None:
    rows = [row | {"label": str(number % 2)} for number, row in enumerate(make_rows())]
    path = write_csv(tmp_path / "a.csv", rows)
    assert inspect_file(path, None, None).label == "label"
    assert inspect_file(path, None, "queue").label == "queue"


def refuse(path: Path, text: str | None = None, label: str | None = None) -> str:
    with pytest.raises(DataError) as refused:
        inspect_file(path, text, label)
    return str(refused.value)


def test_a_text_of_one_word_or_without_blanks_is_guessed_by_the_name_of_its_column(
    tmp_path: Path,
) -> None:
    rows = [
        {"text": f"我的包裹在哪里{row}", "other": f"x{row}", "topic": CLASSES[row % 3]}
        for row in range(60)
    ]
    survey = inspect_file(write_csv(tmp_path / "a.csv", rows), None, None)
    assert (survey.text, survey.label) == ("text", "topic")
    unnamed = [{"a": row["text"], "topic": row["topic"]} for row in rows]
    assert "no column can be the text" in refuse(write_csv(tmp_path / "b.csv", unnamed))


def test_columns_that_cannot_be_told_apart_are_listed(tmp_path: Path) -> None:
    rows = [row | {"team": str(number % 4)} for number, row in enumerate(make_rows())]
    message = refuse(write_csv(tmp_path / "a.csv", rows))
    assert "several columns can be the label" in message
    assert "'queue' (3 values in 60 rows" in message
    assert "'team' (4 values" in message
    assert "--label COLUMN" in message


def test_a_file_without_a_label_is_refused(tmp_path: Path) -> None:
    rows = [{key: row[key] for key in ("ticket", "body")} for row in make_rows()]
    message = refuse(write_csv(tmp_path / "a.csv", rows))
    assert "no column can be the label" in message
    assert "'ticket' (60 values" in message


def test_a_file_without_a_text_is_refused(tmp_path: Path) -> None:
    rows = [{key: row[key] for key in ("ticket", "queue")} for row in make_rows()]
    assert "no column can be the text" in refuse(write_csv(tmp_path / "a.csv", rows))


def test_a_file_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path) -> None:
    assert "cannot be read (No such file" in refuse(tmp_path / "a.csv")
    (tmp_path / "empty.csv").touch()
    assert "empty" in refuse(tmp_path / "empty.csv")
    (tmp_path / "a.xlsx").touch()
    assert "no reader for .xlsx" in refuse(tmp_path / "a.xlsx")
    (tmp_path / "one.csv").write_text("text\nhello there\n")
    assert "1 columns" in refuse(tmp_path / "one.csv")
    (tmp_path / "none.csv").write_text("text,label\n")
    assert "no rows" in refuse(tmp_path / "none.csv")
    path = write_csv(tmp_path / "a.csv", make_rows())
    assert "--label team: no such column; found: ticket, body, queue" in refuse(path, None, "team")


@pytest.mark.parametrize("value", ["", " "])
def test_a_named_column_without_values_is_refused(tmp_path: Path, value: str) -> None:
    path = write_csv(tmp_path / "a.csv", [row | {"empty": value} for row in make_rows()])
    said = "empty: the column is empty in all 60 rows; fill it, or name another column"
    assert f"a.csv: --text {said}" in refuse(path, "empty", "queue")
    assert f"a.csv: --label {said}" in refuse(path, "body", "empty")


def test_a_file_without_the_names_of_its_columns_is_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", make_rows())
    path.write_text(path.read_text().partition("\n")[2])
    assert "no line with the names of the columns: 'billing'" in refuse(path)
