"""A folder of files is scored file by file, here, in an object store and on Spark: same answers."""

import importlib.util
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.s3_server import serve_bucket
from tests.support.scored_files import GOOD, Model, prepare_model, read, write

from plumbline.contract.errors import BusyError, DataError, ParamsError, PlumblineError
from plumbline.scoring import ScoringRequest, make_spark_engine, score_folder

SPARK = pytest.mark.skipif(
    importlib.util.find_spec("pyspark") is None or shutil.which("java") is None,
    reason="no Spark here: pyspark (requirements-spark.lock) or Java is not installed",
)
NAMES = ("2026/10/old.csv", "2026/11/new.parquet", "chat.jsonl.gz")
LISTING = "_listing.json"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Model:
    return prepare_model(tmp_path_factory, worker_id)


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A folder of three files in three formats, of which two are nested."""
    for number, name in enumerate(NAMES):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        texts = GOOD[number:]
        write(path, {"n": [str(row) for row in range(len(texts))], "text": texts})
    for name in ("_SUCCESS", "part-00009.csv"):  # as engines write them, without a byte
        (tmp_path / "in" / name).touch()
    return tmp_path / "in"


def read_bytes(folder: Path) -> dict[str, bytes]:
    """Read all files of a folder of answers, but for the records of how they came to be."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "_scored" not in path.parts
    }


def score_alone(model: Model, given: Path, folder: Path) -> dict[str, bytes]:
    """Score each file by itself."""
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        model.score(given / name, folder / name)
    return read_bytes(folder)


def test_each_file_gets_the_answers_that_it_gets_alone(
    model: Model, given: Path, tmp_path: Path
) -> None:
    said = model.run(given, tmp_path / "out")
    num_rows = sum(len(GOOD[number:]) for number in range(len(NAMES)))
    assert f"3 files, {num_rows} rows by ticket-router version 1" in said
    found = read_bytes(tmp_path / "out")
    listing = json.loads(found.pop(LISTING))
    assert found == score_alone(model, given, tmp_path / "alone")
    assert [file["name"] for file in listing["files"]] == sorted(NAMES)
    assert listing["num_rows"] == num_rows
    assert listing["model"]["bundle"] == model.copy.bundle


def test_a_second_run_scores_only_what_changed(model: Model, given: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert model.score_folder(given, out).num_kept == 0
    before = {name: (out / name).stat().st_mtime_ns for name in NAMES}
    first = read_bytes(out)
    assert model.score_folder(given, out).num_kept == len(NAMES)
    assert read_bytes(out) == first
    write(given / NAMES[0], {"text": ["parcel late"]})
    with pytest.raises(DataError, match=f"{out / NAMES[0]}: exists, and is not what this run"):
        model.score_folder(given, out)
    assert read_bytes(out) == first
    assert model.score_folder(given, out, overwrite=True).num_kept == len(NAMES) - 1
    assert [row["text"] for row in read(out / NAMES[0])] == ["parcel late"]
    after = {name: (out / name).stat().st_mtime_ns for name in NAMES}
    assert [name for name in NAMES if after[name] != before[name]] == [NAMES[0]]


def test_answers_that_were_changed_are_not_kept(model: Model, given: Path, tmp_path: Path) -> None:
    model.score_folder(given, tmp_path / "out")
    changed = tmp_path / "out" / NAMES[0]
    whole = changed.read_bytes()
    changed.write_bytes(whole.replace(b"refund", b"refuse"))
    with pytest.raises(DataError, match=f"{changed}: exists, and is not what this run writes"):
        model.score_folder(given, tmp_path / "out")
    model.score_folder(given, tmp_path / "out", overwrite=True)
    assert changed.read_bytes() == whole


def test_a_file_that_fails_is_named_and_the_others_are_kept(
    model: Model, given: Path, tmp_path: Path
) -> None:
    write(given / NAMES[1], {"txt": GOOD})
    with pytest.raises(DataError, match="1 of 3 files could not be scored; the others ") as error:
        model.score_folder(given, tmp_path / "out")
    said = f"{given / NAMES[1]}: missing column 'text' (did you mean txt?)"
    assert said in str(error.value)
    assert not (tmp_path / "out" / LISTING).exists()
    write(given / NAMES[1], {"text": GOOD})
    assert "2 of the files were scored before" in model.run(given, tmp_path / "out")


def test_an_interrupted_run_continues_to_the_same_answers(
    model: Model, given: Path, tmp_path: Path
) -> None:
    write(given / "all.csv", {"text": [f"parcel late {row}" for row in range(4000)]})
    out = tmp_path / "out"

    def interrupt(num_rows: int, share: float) -> None:
        if num_rows > 2048:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.score_folder(given, out, interrupt)
    assert not (out / "all.csv").exists()
    assert not (out / LISTING).exists()
    assert model.score_folder(given, out).num_kept == 2
    model.score_folder(given, tmp_path / "whole")
    assert read_bytes(out) == read_bytes(tmp_path / "whole")


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("in/out", "is, holds or lies in the input"),
        ("in", "is, holds or lies in the input"),
        (".", "is, holds or lies in the input"),
        ("in/chat.jsonl.gz", "is, holds or lies in the input"),
        ("file.csv", "a file; name the folder that holds it"),
        ("strange", "strange: has other.csv, and "),
    ],
)
def test_an_output_that_would_mix_files_is_refused(
    model: Model, given: Path, tmp_path: Path, output: str, message: str
) -> None:
    (tmp_path / "file.csv").write_text("text\nrefund\n")
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "other.csv").write_text("text\nrefund\n")
    before = read_bytes(tmp_path)
    with pytest.raises(PlumblineError, match=message):
        model.score_folder(given, tmp_path / output)
    assert read_bytes(tmp_path) == before


def test_an_input_that_cannot_be_read_is_refused(model: Model, given: Path, tmp_path: Path) -> None:
    (given / "readme.md").write_text("hello")
    with pytest.raises(ParamsError, match=r"readme.md: no reader for .md.*begin its name with _"):
        model.score_folder(given, tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty: no such folder, or no file in it"):
        model.score_folder(tmp_path / "empty", tmp_path / "out")
    said = model.run(given / NAMES[0], tmp_path / "out.csv", "--on", "spark", code=2)
    assert "is not a folder" in said
    assert not (tmp_path / "out").exists()


def test_two_runs_do_not_write_one_folder(model: Model, given: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def score_beside(*_: object) -> None:
        with pytest.raises(BusyError, match="out: another run is writing it"):
            model.score_folder(given, out, columns=["label"], overwrite=True)

    model.score_folder(given, out, watch=score_beside)
    assert {"label", "scores"} <= set(read(out / NAMES[0])[0])


def test_all_files_get_the_same_columns(model: Model, given: Path, tmp_path: Path) -> None:
    write(given / NAMES[0], {"text": ["refund"], "label": ["billing"]})
    with pytest.raises(DataError, match=f"{NAMES[0]}: column 'label' has the name of an answer"):
        model.score_folder(given, tmp_path / "out")
    model.score_folder(given, tmp_path / "named", prefix="predicted_")
    for name in NAMES:
        assert "predicted_label" in read(tmp_path / "named" / name)[0]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    with serve_bucket("tickets", monkeypatch) as store:
        yield store


@pytest.mark.slow
@pytest.mark.service
def test_an_object_store_gets_the_answers_of_a_local_folder(
    model: Model, given: Path, tmp_path: Path, bucket: object
) -> None:
    bucket.put(f"{given}/", "tickets/in", recursive=True)
    reached = {name: os.environ[name] for name in os.environ if name.startswith("AWS_")}
    model = replace(model, environment=model.environment | reached)
    addresses = ("s3://tickets/in/", "s3://tickets/out/")
    said = model.run(*addresses)
    assert "s3://tickets/out/: 3 files" in said
    expected = score_alone(model, given, tmp_path / "alone")
    for name, content in expected.items():
        assert bucket.cat_file(f"tickets/out/{name}") == content
    listing = json.loads(bucket.cat_file(f"tickets/out/{LISTING}"))
    assert [file["name"] for file in listing["files"]] == sorted(NAMES)
    assert "3 of the files were scored before" in model.run(*addresses)
    bucket.pipe_file("tickets/in/chat.jsonl.gz", b"no gzip")
    said = model.run(*addresses, "--overwrite", code=1)
    assert "s3://tickets/in/chat.jsonl.gz" in said
    assert "/plumbline-score-" not in said


@pytest.mark.parametrize("master", ["local[x]", ""])
def test_a_master_that_cannot_be_is_named(master: str) -> None:
    with pytest.raises(ParamsError, match="unknown; expected here"):
        make_spark_engine(master)


@SPARK
@pytest.mark.slow
def test_spark_gives_the_answers_and_the_listing_of_this_machine(
    model: Model, given: Path, tmp_path: Path
) -> None:
    model.run(given, tmp_path / "here")
    relative = os.path.relpath(given)  # executors work in other folders
    said = model.run(Path(relative), tmp_path / "spark", "--on", "local[2]")
    assert "3 files" in said
    assert read_bytes(tmp_path / "spark") == read_bytes(tmp_path / "here")
    assert "3 of the files were scored before" in model.run(given, tmp_path / "spark")
    write(given / NAMES[0], {"text": ["refund", ""]})
    said = model.run(given, tmp_path / "bad", "--on", "local[2]", code=1)
    assert "1 of 3 files could not be scored; the others are kept" in said
    assert f"{given / NAMES[0]}: row 2 (line 3): " in said


@SPARK
@pytest.mark.slow
def test_an_executor_refuses_a_model_that_is_not_the_verified_one(
    model: Model, given: Path, tmp_path: Path
) -> None:
    shutil.copytree(model.copy.folder, tmp_path / "model")
    predictor = tmp_path / "model" / "predictor.py"
    predictor.chmod(0o600)
    predictor.write_text(predictor.read_text() + "\n")
    changed = replace(model.copy, folder=tmp_path / "model")
    request = ScoringRequest(given, tmp_path / "out", {"top_k": 3, "threshold": 0.0})
    with pytest.raises(DataError, match=r"predictor\.py: changed since the bundle was sealed"):
        score_folder(changed, request, make_spark_engine("local[1]"))
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "_scored"]
