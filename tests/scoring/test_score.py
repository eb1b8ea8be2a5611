"""Files of every format are scored completely and in order, or leave no output."""

import itertools
import math
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.scored_files import (
    FORMS,
    GOOD,
    TEXTS,
    Model,
    nothing_left,
    prepare_model,
    read,
    seal_line,
    write,
)

from plumbline.contract.answers import find_not_finite
from plumbline.contract.errors import DataError, ParamsError, PlumblineError
from plumbline.contract.task import Field, Signature
from plumbline.scoring import ScoringRequest, score
from plumbline.scoring.answers import answer_rows


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Model:
    return prepare_model(tmp_path_factory, worker_id)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [*zip(FORMS, FORMS, strict=True), *itertools.permutations(("csv", "jsonl", "parquet"), 2)],
)
def test_every_format_has_the_rows_and_the_models_answers(
    model: Model, tmp_path: Path, given: str, wanted: str
) -> None:
    numbers = [f"{row:03}" for row in range(len(GOOD))]
    source = write(tmp_path / f"in.{given}", {"n": numbers, "text": GOOD})
    target = tmp_path / f"out.{wanted}"
    done = model.score(source, target, params={"top_k": 2})
    assert (done.num_rows, done.num_bad) == (len(GOOD), 0)
    columns = {"n": numbers, "text": GOOD} | model.predictor.predict({"text": GOOD}, top_k=2)
    expected = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert read(target) == [row | {"model": "ticket-router/1"} for row in expected]
    assert list(read(target)[0]) == [*columns, "model"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [source.name, target.name]


def test_a_row_keeps_its_cells(model: Model, tmp_path: Path) -> None:
    rows = ['"007",,"a ""quoted"" text"', '7.0,"",plain', '1e3, ,"over\r\ntwo lines"']
    (tmp_path / "in.csv").write_bytes("\r\n".join(["\ufeffn,note,text", *rows, "", ""]).encode())
    model.score(tmp_path / "in.csv", tmp_path / "out.csv", columns=["label"])
    texts = ['a "quoted" text', "plain", "over\r\ntwo lines"]
    labels = model.predictor.predict({"text": texts})["label"]
    told = ["n,note,text,label", f'007,,"a ""quoted"" text",{labels[0]}', f"7.0,,plain,{labels[1]}"]
    told.append(f'1e3, ,"over\r\ntwo lines",{labels[2]}')
    assert (tmp_path / "out.csv").read_bytes().decode() == "".join(line + "\r\n" for line in told)

    (tmp_path / "in.jsonl").write_text(
        '{"text": "plain", "n": 1.10, "deep": [{"a":  1}]}\n\n {"text":"plain"} \n'
    )
    model.score(tmp_path / "in.jsonl", tmp_path / "out.jsonl", columns=["label"], prefix="p_")
    assert (tmp_path / "out.jsonl").read_text() == (
        f'{{"text": "plain", "n": 1.1, "deep": [{{"a": 1}}], "p_label": "{labels[1]}"}}\n'
        f'{{"text": "plain", "p_label": "{labels[1]}"}}\n'
    )


@pytest.mark.parametrize("form", ["csv", "jsonl.gz", "parquet"])
def test_rows_without_an_answer(model: Model, tmp_path: Path, form: str) -> None:
    texts = ["refund", "", "parcel", "x" * 100_001, *TEXTS]
    source, target = write(tmp_path / f"in.{form}", {"text": texts}), tmp_path / f"out.{form}"
    with pytest.raises(
        DataError, match=r"row 2( \(line \d\))?: text: empty; fix it, or add --bad-rows keep"
    ):
        model.score(source, target)
    assert nothing_left(tmp_path, source)
    done = model.score(source, target, keep_bad=True)
    assert (done.num_rows, done.num_bad) == (len(texts), 3)
    rows = read(target)
    missing = "" if form[:3] in ("csv", "tsv") else None
    assert [row["text"] for row in rows] == texts
    bad = {
        1: "text: empty",
        3: "text: 100,001 characters; at most 100,000 are accepted",
        8: "text: empty",
    }
    assert [row["error"] or None for row in rows] == [*map(bad.get, range(len(texts)))]
    empty = [number for number, row in enumerate(rows) if row["label"] == missing == row["score"]]
    assert empty == list(bad)
    answered = [row for number, row in enumerate(rows) if number not in bad]
    labels = model.predictor.predict({"text": [row["text"] for row in answered]})["label"]
    assert [row["label"] for row in answered] == labels


def test_values_that_are_not_of_the_models_type(tmp_path: Path) -> None:
    copy = seal_line(tmp_path)
    source, target = write(tmp_path / "in.csv", {"x": ["2.5", "far", ""]}), tmp_path / "out.csv"
    message = r"in\.csv: row 2 \(line 3\): x: expected double, found 'far'"
    for keep_bad in (False, True):
        request = ScoringRequest(source, target, {}, keep_bad=keep_bad)
        with nullcontext() if keep_bad else pytest.raises(DataError, match=message):
            assert score(copy, request, lambda *_: None, lambda _: None).num_bad == 2
    assert [tuple(row.values()) for row in read(target)] == [
        ("2.5", "6.0", "line/3", ""),
        ("far", "", "line/3", "x: expected double, found 'far'"),
        ("", "", "line/3", "x: expected double, found ''"),
    ]


# What is read of a file is tested in tests/tables; here, that scoring stops and leaves nothing.
BROKEN: dict[str, tuple[str, bytes, str]] = {
    "an extra cell": ("csv", b"text,n\na,1\nb,2,3\n", r":3: 3 cells where the header has 2"),
    "a key like an answer": (
        "jsonl", b'{"text": "a", "label": 1}\n{"text": "b", "predicted_label": 1}\n',
        r"column 'predicted_label' has the name of an answer; add --prefix",
    ),
    "a late key like an answer": (
        "jsonl", b'{"text": "a"}\n' * 2000 + b'{"text": "b", "label": 1}\n',
        r"\(line 2,001\): key 'label' has the name of an answer; add --prefix",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_is_named_with_the_line_and_leaves_nothing(
    model: Model, tmp_path: Path, fault: str
) -> None:
    form, content, message = BROKEN[fault]
    source = tmp_path / f"in.{form}"
    source.write_bytes(content)
    with pytest.raises(DataError, match=rf"^{source}.*{message}"):
        model.score(source, tmp_path / "out.jsonl", keep_bad=True)
    assert nothing_left(tmp_path, source)


def test_json_lines_that_are_not_a_table(model: Model, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "a", "n": 1}\n{"text": "b", "n": "two"}\n')
    expected = r"row 1 .* to row 2: n: not all values are of type int64 .*write \.jsonl"
    with pytest.raises(DataError, match=rf"in\.jsonl: {expected}"):
        model.score(source, tmp_path / "out.parquet")
    source.write_text('{"text": "a", "n": {}}\n')
    with pytest.raises(DataError, match=r"cannot be written as Parquet .*; write \.jsonl"):
        model.score(source, tmp_path / "out.parquet")
    source.write_text('{"text": "a"}\n' * 5000 + '{"text": "b", "more": 1}\n')
    expected = r"\(line 5,001\): key 'more' is not in any of the first 1,024 rows"
    with pytest.raises(DataError, match=expected):
        model.score(source, tmp_path / "out.csv")
    assert nothing_left(tmp_path, source)


@pytest.mark.parametrize(
    ("name", "columns", "options", "message"),
    [
        (
            "in.csv",
            {"txt": ["a"]},
            {},
            r"missing column 'text' \(did you mean txt\?\); found 'txt'",
        ),
        ("in.parquet", {"body": ["a"]}, {}, r"missing column 'text'; found 'body'"),
        (
            "in.csv",
            {"text": ["a"]},
            {"columns": ["labels"]},
            r"--columns labels: .* \(did you mean label\?\)",
        ),
    ],
)
def test_an_invalid_request_fails_before_a_row_is_read(
    model: Model,
    tmp_path: Path,
    name: str,
    columns: dict[str, list[str]],
    options: dict[str, Any],
    message: str,
) -> None:
    source = write(tmp_path / name, columns)
    with pytest.raises(PlumblineError, match=message):
        model.score(source, tmp_path / "out.csv", **options)
    assert nothing_left(tmp_path, source)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_answers_get_a_prefix_where_a_column_has_their_name(
    model: Model, tmp_path: Path, form: str
) -> None:
    source = write(tmp_path / f"in.{form}", {"text": ["a", "b"], "label": ["x", "y"]})
    said: list[str] = []
    target = tmp_path / f"out.{form}"
    model.score(source, target, say=said.append, keep_bad=True)
    rows = read(target)
    assert [row["label"] for row in rows] == ["x", "y"]
    assert [row["predicted_label"] for row in rows] == [
        model.predictor.predict({"text": [text]})["label"][0] for text in ("a", "b")
    ]
    assert {"predicted_model", "predicted_error"} <= set(rows[0])
    (line,) = said
    assert "the names of answers begin with predicted_" in line


def test_an_existing_output_is_replaced_only_with_overwrite(model: Model, tmp_path: Path) -> None:
    source, target = write(tmp_path / "in.csv", {"text": ["a"]}), tmp_path / "out.csv"
    target.write_text("mine")
    with pytest.raises(ParamsError, match=r"out\.csv: exists; add --overwrite"):
        model.score(source, target)
    assert target.read_text() == "mine"
    with pytest.raises(ParamsError, match="is the input"):
        model.score(source, source, overwrite=True)
    model.score(source, target, overwrite=True)
    assert len(read(target)) == 1


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_last_rows_alone_are_answered(model: Model, tmp_path: Path, form: str) -> None:
    rows: dict[str, Any] = {"n": [str(row) for row in range(3000)], "text": ["where is it"] * 3000}
    request = ScoringRequest(write(tmp_path / f"in.{form}", rows), tmp_path / "out.csv", {})
    score(model.copy, request, lambda *_: None, lambda _: None, last=1000)
    assert [row["n"] for row in read(tmp_path / "out.csv")] == rows["n"][1024:]


@pytest.mark.parametrize("form", FORMS)
def test_no_rows(model: Model, tmp_path: Path, form: str) -> None:
    source = tmp_path / f"in.{form}"
    if form == "parquet":
        pq.write_table(pa.table({"text": pa.array([], pa.string())}), source)
    else:
        write(source, {"text": []})
    for wanted in (form, "csv", "parquet"):
        target = tmp_path / f"out.{wanted}"
        assert model.score(source, target, overwrite=True).num_rows == 0
        assert read(target) == []


SIGNATURE = Signature((Field("x", "double"),), (Field("y", "double"),), ())
TWO_ANSWERS = Signature(SIGNATURE.inputs, (*SIGNATURE.outputs, Field("z", "string")), ())


def leave_last_row_out(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    return {"y": list(columns["x"])[:-1]}


def test_a_model_that_leaves_rows_out_is_named() -> None:
    with pytest.raises(PlumblineError, match="answered 2 of 3 rows in its column y"):
        answer_rows(leave_last_row_out, SIGNATURE, {"x": [1.0, 2.0, 3.0]}, keep_bad=False)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, [1.0, math.nan], {"a": math.inf}])
def test_a_row_with_an_answer_that_is_no_number_is_kept_without_one(value: Any) -> None:
    answers = {"y": [1.0, value, 3.0], "z": ["a", "b", "c"]}
    given: Any = {"x": [1.0, 2.0, 3.0]}
    columns, bad = answer_rows(lambda _: answers, TWO_ANSWERS, given, keep_bad=True)
    assert bad == {1: "y: the model returned NaN or infinity"}
    assert columns == {"y": [1.0, None, 3.0], "z": ["a", None, "c"]}


def test_finite_values_and_texts_are_answers() -> None:
    assert find_not_finite({"y": [1.0, None, "nan", 10**400, [], {"a": [True, 2]}]}) == {}


SEVERAL = 4_000  # rows: 4 batches
HALTING = """
import os, signal
from plumbline.cli import main
from plumbline.tables.writing import CsvWriter

write = CsvWriter.write

def write_and_halt(self, *arguments):
    write(self, *arguments)
    os.kill(os.getpid(), signal.SIGSTOP)

CsvWriter.write = write_and_halt
main()
"""


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("several"), SEVERAL)


def write_rows(folder: Path, num_rows: int) -> Path:
    """A file of texts, of which every thousandth is empty."""
    words = ["refund", "parcel", "password", "late", "please", "twice", "account"]
    texts = [
        f"{words[row % 7]} {words[row % 5]} {row}" if row % 1000 else "" for row in range(num_rows)
    ]
    return write(folder / "in.csv", {"n": list(range(num_rows)), "text": texts})


def halt(model: Model, given: Path, wanted: Path) -> subprocess.Popen[str]:
    """Start scoring with bad rows kept, and stop it after each batch of rows of CSV."""
    options = model.command(given, wanted, "--bad-rows", "keep")[1:]
    process = model.open([sys.executable, "-c", HALTING, *options])
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
    return process


def test_a_row_gets_the_same_answer_in_a_file_as_alone(
    model: Model, several: Path, tmp_path: Path
) -> None:
    model.score(several, tmp_path / "out.jsonl", keep_bad=True, params={"top_k": 9})
    for row in [found for found in read(tmp_path / "out.jsonl")[::49] if found["text"]]:
        alone = model.predictor.predict({"text": [row["text"]]}, top_k=9)
        assert row["label"] == alone["label"][0]
        scores = [
            {part["label"]: pytest.approx(part["score"], abs=1e-6) for part in each}
            for each in alone["scores"]
        ]
        assert {part["label"]: part["score"] for part in row["scores"]} == scores[0]


@pytest.mark.slow
def test_killed_or_interrupted_it_leaves_no_output(
    model: Model, several: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out.csv"
    for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        process = halt(model, several, target)
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=600)
        assert process.returncode == code
        assert not target.exists()
    said = model.run(several, target, "--bad-rows", "keep")
    assert f"{SEVERAL:,} rows by ticket-router version 1" in said
    assert "4 could not be answered, see the column error" in said
    assert len(read(target)) == SEVERAL


def test_an_input_that_changes_during_the_run(model: Model, several: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_bytes(several.read_bytes())

    def grow(num_rows: int, share: float) -> None:
        with source.open("a") as file:
            file.write("1,another\n")

    with pytest.raises(
        DataError, match=r"in\.csv: changed while it was read; run the same command again"
    ):
        model.score(source, tmp_path / "out.csv", grow, keep_bad=True)
    assert nothing_left(tmp_path, source)


def test_the_command_needs_neither_mlflow_nor_torch(model: Model, tmp_path: Path) -> None:
    source, target = write(tmp_path / "in.csv", {"text": GOOD}), tmp_path / "out.csv"
    heavy = ("mlflow", "torch", "transformers", "pandas", "great_expectations")
    program = (
        "import sys; from plumbline import cli\n"
        "try: cli.main()\n"
        f"finally: print('loaded:', [name for name in {heavy} if name in sys.modules])"
    )
    options = model.command(source, target, "--columns", "label,score")[1:]
    command = [sys.executable, "-c", program, *options]
    done = subprocess.run(
        command, env=model.environment, capture_output=True, text=True, check=True
    )
    assert f"{target}: {len(GOOD)} rows by ticket-router version 1, " in done.stdout
    assert "loaded: []" in done.stdout
    assert done.stderr == ""
    assert list(read(target)[0]) == ["text", "label", "score"]
