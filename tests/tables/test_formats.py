"""Files of every format, clean and faulty: equal rows, and messages that name the place."""

import datetime
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML
from tests.support.small_sources import COLUMNS, CSV, ROWS, read_bytes, read_source

from plumbline.contract.errors import DataError
from plumbline.tables.formats import list_columns
from plumbline.tables.records import WantedColumn


def read_refused(raw: bytes | str, folder: Path, name: str = "a.csv", **options: bool) -> str:
    with pytest.raises(DataError) as error:
        read_bytes(raw, folder, name, **options)
    return str(error.value)


@pytest.mark.parametrize(
    ("separator", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")]
)
def test_another_delimiter_is_detected_and_reported(
    folder: Path, separator: str, name: str
) -> None:
    result = read_bytes(CSV.replace(",", separator), folder)
    assert len(result.rows) == 60
    assert result.notices == [f"a.csv: cells are separated by {name}, not commas"]


def test_rows_are_numbered_by_the_line_they_begin_on(folder: Path) -> None:
    result = read_bytes(CSV + '\n"two\nlines",a\nlast,b\n', folder)
    assert list(result.rows)[-2:] == ["a.csv:63", "a.csv:65"]


@pytest.mark.parametrize(
    ("raw", "name", "message"),
    [
        ("", "a.csv", "a.csv: the file is empty (0 bytes)"),
        (
            "body,label\nhi,a\n",
            "a.csv",
            "no column 'text'; found 'body', 'label'\n"
            "  is it 'body'? then set data.columns.text: body",
        ),
        (
            "ID,TEXT,Label \n1,hi,a\n",
            "a.csv",
            "found 'ID', 'TEXT', 'Label '\n  is it 'TEXT'? then set data.columns.text: TEXT\n"
            "  is it 'Label '? then set data.columns.label: 'Label '",
        ),
        (
            "hi there,a\nyou,b\n",
            "a.csv",
            "found 'hi there', 'a'\n  if that is the first row of the data, the file has no header",
        ),
        ("{}\n{}\n", "a.jsonl", "a.jsonl: no column 'text' or 'label'; found none"),
        ("text,text,label\nhi,ho,a\n", "a.csv", "2 columns are called 'text'"),
        ("text,label\nhi,a\nhi,there,b\n", "a.csv", "a.csv:3: 3 cells where the header has 2"),
        ('text,label\n"a, b,x\nhi,a\n"c, d",x\n', "a.csv",
            "a.csv:2: a double quote opens a cell on this line"),
        ("text,label\rhi,a\r", "a.csv", "a.csv:1: a bare carriage return ends lines"),
        ('{"text": "hi"}\r{"text": "ho"}\r', "a.jsonl", "; a bare carriage return ends lines"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a.csv",
            "a Git LFS pointer"),
        (b"PK\x03\x04....", "a.csv", "a zip archive or spreadsheet"),
        (gzip.compress(os.urandom(99_999))[:5000], "a.csv.gz", "damaged or truncated gzip file"),
        (b"PAR1 no footer", "a.parquet", "a.parquet: cannot be read as Parquet"),
        (b"ARROW1 no footer", "a.arrow", "a.arrow: cannot be read as Arrow"),
        ('{"text": "hi", "label": "a"}\n{"text": \n', "a.jsonl",
            "a.jsonl:2: not a JSON object on one line"),
        ('{"text": {"a": 1}, "label": "a"}\n', "a.jsonl",
            "a.jsonl:1: column 'text': expected text or a number, found a dict"),
        ('{"text": "hi", "label": "a"}\n{"text": "hi", "label": "a", "label": "b"}\n', "a.jsonl",
            "a.jsonl:2: not a JSON object on one line (the same key twice: 'label')"),
        ('{"text": "hi", "label": 1}\n{"text": "hi", "label": [1e400]}\n', "a.jsonl",
            "a.jsonl:2: not a JSON object on one line (1e400 is beyond"),
        ('{"text": "hi", "label": -Infinity}\n', "a.jsonl", "a.jsonl:1: not a JSON object"),
        ("[" * 100_000, "a.jsonl", "a.jsonl:1: not a JSON object"),
        ("text,label\nhi,a\n".encode("utf-16-le"), "a.csv",
            "looks like UTF-16 without a byte order mark"),
        ("<!DOCTYPE html>\n<title>Log in</title>", "a.csv", "a.csv: an HTML page, not data"),
        ('{"text": "hi", "label": "a"}\n', "a.csv", "a.csv: JSON, not CSV; name it .jsonl"),
        ('[{"text": "hi"}]', "a.csv", "; an array has to become one object on each line"),
        ('[\n{"text": "hi"}\n]', "a.jsonl", "; an array has to become one object on each"),
        ("[]", "a.json", "a.json: no reader for .json; if it is one array"),
        ("text,label\nhi,a\nho", "a.csv",
            "a.csv:3: 1 cell where the header has 2: the file is cut"),
        ("text,label\nhi,a\nho\nha,b\n", "a.csv",
            "a.csv:3: 1 cell where the header has 2 (separated by commas); add the cells"),
        ("hi", "a.xlsx", "a.xlsx: no reader for .xlsx; known: .csv"),
        (b"PAR1", "a.parquet.gz", "a.parquet.gz: no reader for .gz; known: .csv"),
        (b"\xef\xbb\xbf", "a.csv", "a.csv: no line with the names of the columns"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_place(
    folder: Path, raw: bytes | str, name: str, message: str
) -> None:
    assert message in read_refused(raw, folder, name)


def test_a_column_whose_name_is_fixed_is_to_be_renamed(folder: Path) -> None:
    (folder / "a.csv").write_text("aera,label\n1,a\n")
    with pytest.raises(DataError, match=r"is it 'aera'\? then call it 'area'"):
        read_source("a.csv", (WantedColumn("area", "", remedy="add the column"),))


def test_names_of_columns_that_come_again_are_no_row(folder: Path) -> None:
    result = read_bytes(CSV + CSV + CSV, folder)
    assert result.values == ROWS * 3
    assert result.notices == [
        "a.csv:62: the names of the columns again, left out (lines of this kind: 2); "
        "were files joined?"
    ]


def test_blanks_stay_where_quotes_do_not_begin_a_cell(folder: Path) -> None:
    said = '"he said, ""yes, and "", so", a\n'
    result = read_bytes(f"text,label\n{said} hi,b\n", folder)
    assert result.values == [('he said, "yes, and ", so', " a"), (" hi", "b")]


def test_a_first_object_may_lack_what_others_have(folder: Path) -> None:
    lines = '{"label": "a"}\n{"text": "hi", "label": "b"}\n'
    assert read_bytes(lines, folder, "a.jsonl").values == [(None, "a"), ("hi", "b")]


def test_a_pattern_passes_over_marks_and_parts_without_a_byte(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out/_SUCCESS").touch()
    (folder / "out/part-00000.csv").write_text(CSV)
    (folder / "out/part-00001.csv").touch()
    assert [part.name for part in read_source("out/*").parts] == ["part-00000.csv"]


@pytest.mark.parametrize("name", ["label ", "Label: x", "#label"])
def test_the_remedy_for_a_column_can_be_pasted(folder: Path, name: str) -> None:
    message = read_refused(f"text,{name}\nhi,a\n", folder)
    _, _, told = message.partition("then set data.columns.label: ")
    remedy = YAML(typ="safe").load(f"label: {told}")["label"]
    (folder / "a.csv").write_text(f"text,{name}\nhi,a\n")
    columns = (COLUMNS[0], WantedColumn(remedy, "data.columns.label"))
    assert read_source("a.csv", columns).values == [("hi", "a")]


def test_columns_that_can_be_asked_for_have_a_name(folder: Path) -> None:
    (folder / "a.csv").write_text("v1,v2,x,x,,\nham,hi,,,,\n")
    assert list_columns((folder / "a.csv").open("rb"), "a.csv") == ["v1", "v2", "x", "x"]


def test_columns_that_are_not_read_are_named(folder: Path) -> None:
    result = read_bytes("text,label,team,day\nhi,a,x,y\n", folder)
    assert result.notices == ["a.csv: columns that are not read: 'team', 'day'"]


def test_a_missing_column_has_the_remedy_of_its_task(folder: Path) -> None:
    (folder / "a.csv").write_text(CSV)
    plain = WantedColumn("team", "data.split.column")
    optional = WantedColumn("team", "data.columns.metadata", remedy="leave 'team' out")
    with pytest.raises(DataError, match=r"\n  set data\.split\.column to the column that holds it"):
        read_source("a.csv", columns=(plain,))
    with pytest.raises(DataError, match=r"\n  leave 'team' out$"):
        read_source("a.csv", columns=(optional,))


def test_a_line_without_end_is_stopped(folder: Path) -> None:
    message = read_refused("text,label\n" + "a" * 2**25, folder)
    assert "a.csv:2: a line of more than 16 MiB" in message


def test_stray_bytes_are_read_as_windows_1252(folder: Path) -> None:
    raw = CSV.encode() + "naïve,a\n".encode() + b"caf\xe9 \x93ol\xe9\x94 \x81,a\n"
    result = read_bytes(raw, folder)
    assert result.values[-1] == ("café “olé” �", "a")
    assert [place for place, row in result.rows.items() if row.decoded] == ["a.csv:63"]
    assert "lines with bytes that are not UTF-8: 1;" in result.notices[0]


def test_stray_bytes_can_be_refused(folder: Path) -> None:
    latin = read_refused(b"text,label\ncaf\xe9,a\n", folder, refuse_encoding=True)
    assert "a.csv:2: not UTF-8: byte 0xe9 after 'caf'; convert" in latin
    raw = "text,label\nnaïve,a\n".encode() + b"caf\xe9,a\n"
    mixed = read_refused(raw, folder, refuse_encoding=True)
    assert "a.csv:3: not UTF-8: byte 0xe9 after 'caf'; fix the row, or set" in mixed


def test_unicode_round_trips_and_line_separators_split_no_row(folder: Path) -> None:
    odd = "שלום \u2028\u2029\x85 e\u0301 👩‍👩‍👧 \u202eabc =1+1"
    result = read_bytes(CSV + odd + ",a\n", folder)
    assert len(result.rows) == 61
    assert result.values[-1] == (odd, "a")


def test_an_unpaired_surrogate_is_replaced(folder: Path) -> None:
    lines = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in ROWS)
    odd = '{"text": "odd \\ud83d end", "label": "a"}\n{"text": "\\ud83d\\ude00", "label": "a"}\n'
    result = read_bytes(lines + odd, folder, "a.jsonl")
    assert result.values[-2:] == [("odd ? end", "a"), ("😀", "a")]
    assert [row.decoded for row in result.rows.values()][-2:] == [True, False]


def test_a_number_that_is_none_is_an_empty_cell(folder: Path) -> None:
    labels = pa.array([1.0, float("nan"), None])
    pq.write_table(pa.table({"text": ["x", "y", "z"], "label": labels}), folder / "a.parquet")
    lines = [
        f'{{"text": "{text}", "label": {label}}}\n'
        for text, label in zip("xyz", ("1.0", "NaN", "null"), strict=True)
    ]
    (folder / "a.jsonl").write_text("".join(lines))
    for name in ("a.parquet", "a.jsonl"):
        assert read_source(name).values == [("x", "1"), ("y", None), ("z", None)]
    word = read_bytes('{"text": "x", "label": "nan"}\n', folder, "a.jsonl")
    assert word.values == [("x", "nan")]


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
@pytest.mark.parametrize("kind", ["bytes that are not UTF-8", "a time beyond the year 9999"])
def test_a_value_that_cannot_be_read_is_named_with_its_row(
    folder: Path, name: str, kind: str
) -> None:
    if kind == "bytes that are not UTF-8":
        binary = [b"hi"] * 5000 + [b"caf\xe9"]
        column = pa.array(binary, pa.binary()).view(pa.string())
    else:
        column = pa.array([0] * 5000 + [2**62], pa.timestamp("ms"))
    table = pa.table({"text": column, "label": ["a"] * 5001})
    if name == "a.parquet":
        pq.write_table(table, folder / name)
    else:
        pyarrow.feather.write_feather(table, str(folder / name))
    with pytest.raises(DataError, match=f"^{name}: rows .* to 5,001: column 'text': cannot be"):
        read_source(name)


@pytest.mark.parametrize("item", [datetime.date(2026, 1, 2), b"a", float("nan")], ids=str)
def test_what_json_cannot_hold_in_a_list_is_refused_with_its_place(item: Any, folder: Path) -> None:
    pq.write_table(pa.table({"label": pa.array([[], [[item]]])}), folder / "a.parquet")
    column = WantedColumn("label", "data.columns.label", may_be_list=True)
    message = "a.parquet:2: column 'label': expected text or a number, found a list "
    with pytest.raises(DataError, match=message):
        read_source("a.parquet", (column,))


def test_what_json_can_hold_in_a_list_stays(folder: Path) -> None:
    cell = [["a", None, True, 1.5], ["b"]]
    pq.write_table(pa.table({"label": pa.array([[{"x": ["a", None]}]])}), folder / "a.parquet")
    column = WantedColumn("label", "data.columns.label", may_be_list=True)
    assert read_source("a.parquet", (column,)).values == [('[{"x": ["a", null]}]',)]
    assert column.convert(cell, "here") == json.dumps(cell)


@pytest.mark.parametrize(
    ("files", "refused"),
    [
        ({"train.txt": '__label__a where is "my" parcel, please\n__label__b no\n'}, "train.txt"),
        ({"raw/a/1.txt": 'where is "my" parcel, please', "raw/b/1.txt": "no"}, "raw/*/*.txt"),
    ],
)
def test_texts_that_are_no_table_are_converted_by_the_command_that_is_named(
    files: dict[str, str], refused: str, folder: Path
) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_source(refused)
    command = str(error.value).partition(": python ")[2].splitlines()[0]
    subprocess.run(f'"{sys.executable}" {command}', shell=True, check=True)  # noqa: S602
    expected = [('where is "my" parcel, please', "a"), ("no", "b")]
    assert read_source("texts.csv").values == expected
