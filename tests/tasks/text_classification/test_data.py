"""Ingest from files, clean and faulty: what is written, what is counted, and what people are told."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.entrypoint import load_params
from plumbline.tasks.text_classification.data import digest, ingest, normalise, read
from plumbline.tasks.text_classification.params import TextParams

ROOT = Path(__file__).parents[3]
DIRTY = ROOT / "../shared/data/dirty"
ROWS = [
    (f"ticket number {number} is about {'money' if number % 2 else 'parcels'}", "ab"[number % 2])
    for number in range(60)
]
CSV = "text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(source: Any, **data: Any) -> TextParams:
    """The shipped parameters with another source, which has no metadata."""
    values = json.loads(load_params(ROOT / "params.yaml").model_dump_json())
    values["data"] |= {"source": source, "watch": "."} | data
    values["data"]["columns"]["metadata"] = data.get("metadata", [])
    values["data"].pop("metadata", None)
    values["evaluation"]["slices"] = []
    return TextParams.model_validate(values)


def run(params: TextParams, out: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Facts and manifest rows."""
    out.mkdir(exist_ok=True)
    facts = ingest(params, out, out / "manifest.parquet")
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    return facts, pq.read_table(out / "manifest.parquet").to_pylist()


def texts(out: Path) -> dict[str, str]:
    """id -> text, over all splits."""
    tables = [read(out, split, ["id", "text"]).to_pydict() for split in SPLITS]
    return {
        id_: text for table in tables for id_, text in zip(table["id"], table["text"], strict=True)
    }


def ingested(
    raw: bytes | str, folder: Path, name: str = "a.csv", **data: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    (folder / name).write_bytes(raw.encode() if isinstance(raw, str) else raw)
    return run(made(name, **data), folder / "out")


def refused(raw: bytes | str, folder: Path, name: str = "a.csv", **data: Any) -> str:
    with pytest.raises(DataError) as error:
        ingested(raw, folder, name, **data)
    return str(error.value)


def test_normal_form() -> None:
    assert normalise("  Where\u2019s my \uff30\uff21\uff32cel?!\u2028") == "where s my parcel"
    assert normalise("zero\u200bwidth") == "zerowidth"
    assert normalise("?!") == "?!"
    assert normalise("👍") != normalise("👎")
    assert normalise("कि") != normalise("का")
    assert digest("Hello, World") == digest("hello world") != digest("hello worlds")


def test_manifest_and_examples_hold_every_row_once(folder: Path) -> None:
    facts, rows = ingested(CSV, folder)
    assert [row["id"] for row in rows] == [f"a.csv:{line}" for line in range(2, 62)]
    assert texts(folder / "out") == {f"a.csv:{i + 2}": text for i, (text, _) in enumerate(ROWS)}
    assert list(rows[0]) == ["id", "split", "label", "length", "digest", "decoded", "truncated"]
    assert facts["splits"] == {
        split: sum(row["split"] == split for row in rows) for split in SPLITS
    }
    assert facts["rows_read"] == facts["rows_kept"] == 60
    assert facts["notices"] == []
    for split in SPLITS:
        assert read(folder / "out", split, ["id"])["id"].to_pylist() == [
            r["id"] for r in rows if r["split"] == split
        ]


def test_the_same_source_gives_the_same_bytes(folder: Path) -> None:
    (folder / "a.csv").write_text(CSV)
    run(made("a.csv"), folder / "one")
    run(made("a.csv"), folder / "two")
    for path in (folder / "one").iterdir():
        assert path.read_bytes() == (folder / "two" / path.name).read_bytes()


def test_every_format_gives_the_same_rows(folder: Path) -> None:
    table = pa.table({"text": [text for text, _ in ROWS], "label": [label for _, label in ROWS]})
    lines = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in ROWS)
    (folder / "a.csv").write_text(CSV)
    (folder / "a.tsv").write_text(CSV.replace(",", "\t"))
    (folder / "a.jsonl").write_text(lines)
    pq.write_table(table, folder / "a.parquet")
    pyarrow.feather.write_feather(table, str(folder / "a.feather"))
    with pa.ipc.new_stream(str(folder / "a.arrow"), table.schema) as stream:
        stream.write_table(table)
    for path in [path for path in folder.iterdir() if path.is_file()]:
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    (folder / "utf16.csv").write_bytes(CSV.encode("utf-16"))
    (folder / "bom.csv").write_bytes(b"\xef\xbb\xbf" + CSV.encode())
    (folder / "crlf.csv").write_bytes(CSV.replace("\n", "\r\n").encode())
    expected = [(digest(text), label) for text, label in ROWS]
    found = sorted(path for path in folder.iterdir() if path.is_file())
    assert len(found) == 15
    for path in found:
        facts, rows = run(made(path.name), folder / "out")
        assert [(row["digest"], row["label"]) for row in rows] == expected, path.name
        assert facts["notices"] == [], path.name


@pytest.mark.parametrize(
    ("separator", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")]
)
def test_another_delimiter_is_found_and_said(folder: Path, separator: str, name: str) -> None:
    facts, rows = ingested(CSV.replace(",", separator), folder)
    assert len(rows) == 60
    assert facts["notices"] == [f"a.csv: cells are separated by {name}, not commas"]


def test_rows_are_numbered_by_the_line_they_begin_on(folder: Path) -> None:
    _, rows = ingested(CSV + '\n"two\nlines",a\nlast,b\n', folder)
    assert [row["id"] for row in rows[-2:]] == ["a.csv:63", "a.csv:65"]


@pytest.mark.parametrize(
    ("raw", "name", "says"),
    [
        ("", "a.csv", "a.csv: the file is empty (0 bytes)"),
        ("text,label\n", "a.csv", "a.csv: 0 rows below the header"),
        (
            "body,label\nhi,a\n",
            "a.csv",
            "no column 'text'; found 'body', 'label'\n  is it 'body'? then set data.columns.text: body",
        ),
        ("text,Label\nhi,a\n", "a.csv", "is it 'Label'? then set data.columns.label: Label"),
        ("text,category\nhi,a\n", "a.csv", "is it 'category'?"),
        (
            "hi there,a\nyou,b\n",
            "a.csv",
            "found 'hi there', 'a'\n  if that is the first row of the data, the file has no header",
        ),
        ("text,text,label\nhi,ho,a\n", "a.csv", "2 columns are called 'text'"),
        ("text,label\nhi,a\nhi,there,b\n", "a.csv", "a.csv:3: 3 cells where the header has 2"),
        (
            'text,label\nhi,a\n"open,b\n',
            "a.csv",
            "a.csv:3: a double quote opens a cell on this line",
        ),
        (
            'text,label\n"a, b,x\nhi,a\n"c, d",x\n',
            "a.csv",
            "a.csv:2: a double quote opens a cell on this line",
        ),
        ("text,label\rhi,a\r", "a.csv", "bare carriage return"),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "a.csv",
            "a Git LFS pointer",
        ),
        (b"PK\x03\x04....", "a.csv", "a zip archive or spreadsheet"),
        (gzip.compress(CSV.encode()), "a.csv", "a gzip file; name it .gz"),
        (gzip.compress(os.urandom(99_999))[:5000], "a.csv.gz", "damaged or cut short gzip file"),
        (CSV, "a.csv.gz", "damaged or cut short gzip file"),
        (b"PAR1 no footer", "a.parquet", "a.parquet: cannot be read as Parquet"),
        (b"ARROW1 no footer", "a.arrow", "a.arrow: cannot be read as Arrow"),
        (
            '{"text": "hi", "label": "a"}\n{"text": \n',
            "a.jsonl",
            "a.jsonl:2: not a JSON object on one line",
        ),
        (
            '{"text": "hi", "label": "a"}\n[1]\n',
            "a.jsonl",
            "a.jsonl:2: expected a JSON object, found list",
        ),
        (
            '{"text": {"a": 1}, "label": "a"}\n',
            "a.jsonl",
            "a.jsonl:1: expected text or a number, found a dict",
        ),
        ("[" * 100_000, "a.jsonl", "a.jsonl:1: not a JSON object"),
        (
            "text,label\nhi,a\n".encode("utf-16-le"),
            "a.csv",
            "looks like UTF-16 without a byte order mark",
        ),
        ("hi", "a.xlsx", "a.xlsx: no reader for .xlsx; known: .csv"),
    ],
)
def test_a_fault_is_named_with_its_place(
    folder: Path, raw: bytes | str, name: str, says: str
) -> None:
    assert says in refused(raw, folder, name)


def test_a_decompression_bomb_is_stopped(folder: Path) -> None:
    bomb = gzip.compress(b"text,label\n" + (b"a" * 50_000 + b",b\n") * 3000)
    assert "grew to more than 200 times its size" in refused(bomb, folder, "a.csv.gz")


def test_a_line_without_end_is_stopped(folder: Path) -> None:
    assert "a.csv:2: a line of more than 16 MiB" in refused("text,label\n" + "a" * 2**25, folder)


NULLS = ["", "  ", "NA", "n/a", "N/A", "null", "NULL", "None", "nan", "NaN", "-"]


def test_nulls_are_dropped_alike_and_counted(folder: Path) -> None:
    lines = "".join(f"{null},a\nsome text,{null}\n" for null in NULLS)
    facts, rows = ingested(CSV + lines, folder)
    assert len(rows) == 60
    assert (
        facts["dropped"]["null_text"]["rows"]
        == facts["dropped"]["null_label"]["rows"]
        == len(NULLS)
    )
    assert facts["dropped"]["null_text"]["first"][0] == "a.csv:62"
    assert facts["dropped"]["null_label"]["found"]["NULL"] == 1


def test_nulls_can_be_refused(folder: Path) -> None:
    policies = {"nulls": "refuse", "encoding": "replace", "max_chars": 100}
    assert "a.csv:62: the label is null-like ('NA')" in refused(
        CSV + "hi,NA\n", folder, policies=policies
    )


def test_stray_bytes_are_read_as_windows_1252_and_counted(folder: Path) -> None:
    facts, rows = ingested(
        CSV.encode() + "naïve,a\n".encode() + b"caf\xe9 \x93ol\xe9\x94 \x81,a\n", folder
    )
    assert texts(folder / "out")["a.csv:63"] == "café “olé” �"
    assert (
        [row["id"] for row in rows if row["decoded"]]
        == facts["changed"]["decoded"]["first"]
        == ["a.csv:63"]
    )
    assert "lines with bytes that are not UTF-8: 1;" in facts["notices"][0]


def test_latin_1_is_recognised(folder: Path) -> None:
    facts, _ = ingested(CSV.encode() + b"caf\xe9,a\n" * 9, folder)
    assert facts["notices"] == [
        "a.csv: not UTF-8, looks like Latin-1; lines read as Windows-1252: 9"
    ]


def test_stray_bytes_can_be_refused(folder: Path) -> None:
    policies = {"nulls": "drop", "encoding": "refuse", "max_chars": 100}
    says = refused(b"text,label\ncaf\xe9,a\n", folder, policies=policies)
    assert "a.csv:2: not UTF-8, looks like Latin-1: byte 0xe9 at offset 14" in says


def test_long_texts_are_cut_and_nul_is_kept(folder: Path) -> None:
    facts, rows = ingested(CSV + f"{'x' * 2**21},a\nni\0hil,b\n", folder)
    assert [row["length"] for row in rows[-2:]] == [4000, 6]
    assert [row["truncated"] for row in rows[-2:]] == [True, False]
    assert texts(folder / "out")["a.csv:63"] == "ni\0hil"
    assert facts["changed"]["truncated"]["first"] == ["a.csv:62"]
    assert facts["changed"]["nul_kept"]["rows"] == 1


def test_unicode_round_trips_and_line_separators_split_no_row(folder: Path) -> None:
    odd = "שלום \u2028\u2029\x85 e\u0301 👩‍👩‍👧 \u202eabc =1+1"
    _, rows = ingested(CSV + odd + ",a\n", folder)
    assert len(rows) == 61
    assert texts(folder / "out")["a.csv:62"] == odd


def test_typed_labels_become_names(folder: Path) -> None:
    pq.write_table(
        pa.table({"text": [t for t, _ in ROWS], "label": [1.0, 2.0, None] * 20}),
        folder / "a.parquet",
    )
    facts, rows = run(made("a.parquet"), folder / "out")
    assert {row["label"] for row in rows} == {"1", "2"}
    assert (
        facts["notices"][-1]
        == "labels are whole numbers; they are taken as names of classes, without order"
    )


def test_half_a_surrogate_pair_is_replaced(folder: Path) -> None:
    lines = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in ROWS)
    _, rows = ingested(lines + '{"text": "odd \\ud83d end", "label": "a"}\n', folder, "a.jsonl")
    assert rows[-1]["decoded"]
    assert texts(folder / "out")["a.jsonl:61"] == "odd ? end"


def test_too_many_labels_are_no_classes(folder: Path) -> None:
    raw = "text,label\n" + "".join(f"text {number},{number / 7}\n" for number in range(20_100))
    assert "more than 20,000 different labels" in refused(raw, folder)


def test_metadata_follows_each_row(folder: Path) -> None:
    raw = "text,label,team\n" + "".join(
        f"{text},{label},{'' if i else 'red'}\n" for i, (text, label) in enumerate(ROWS)
    )
    _, rows = ingested(raw, folder, metadata=["team"])
    assert [row["team"] for row in rows[:2]] == ["red", ""]
    says = refused(raw, folder, metadata=["channel"])
    assert "leave 'channel' out of data.columns.metadata" in says


def test_reading_what_is_not_there_says_what_to_run(folder: Path) -> None:
    with pytest.raises(DataError, match="dvc repro ingest"):
        read(folder, "train")


@pytest.mark.shared
@pytest.mark.skipif(not DIRTY.exists(), reason="development data are not here")
@pytest.mark.parametrize(
    "path",
    sorted(path for path in DIRTY.glob("[0-9x]*.csv") if "__truth" not in path.name),
    ids=lambda path: path.stem,
)
def test_no_faulty_file_ends_in_a_traceback_or_loses_a_row_unseen(folder: Path, path: Path) -> None:
    params = made(
        {"train": str(path), "validation": None, "test": str(DIRTY / "base_test.csv")},
        watch=str(DIRTY),
    )
    refusals = ("01", "03", "11", "12", "13", "x10", "x13")
    if path.name.startswith(refusals) and "__" not in path.name:
        with pytest.raises(DataError, match=path.name):
            run(params, folder / "out")
        return
    facts, rows = run(params, folder / "out")
    dropped = sum(count["rows"] for count in facts["dropped"].values())
    assert facts["rows_read"] == len(rows) + dropped
    assert facts["rows_kept"] == len(rows)
    assert bool(dropped) == path.name.startswith(("05", "x16"))
