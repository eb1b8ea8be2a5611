"""A scoring run that is interrupted, or whose files change: it resumes, and never mixes rows."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.scored_files import GOOD, URI, Model, nothing_left, prepare_model, read, write

from plumbline.contract.errors import DataError, PlumblineError

# MLflow, in this process, warns about its own libraries.
pytestmark = pytest.mark.filterwarnings("ignore")
MANY = 32_000  # rows: 32 chunks
SEVERAL = 4_000  # 4 chunks


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Model:
    return prepare_model(tmp_path_factory, worker_id)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("many"), MANY)


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
@pytest.mark.parametrize("form", ["csv.gz", "parquet"])
def test_killed_anywhere_it_resumes_to_the_same_output(
    model: Model, many: Path, tmp_path: Path, form: str
) -> None:
    whole, target = tmp_path / f"whole.{form}", tmp_path / f"out.{form}"
    assert model.score(many, whole, keep_bad=True).num_bad == 32
    parts = tmp_path / f".{target.name}.parts"
    for num_rows in (1, 8_000, 20_000):
        process = model.halted(many, target, num_rows)
        process.kill()
        process.wait()
        assert not target.exists()
        with (parts / "rows").open("ab") as file:
            file.write(b"half of a ch")  # what a crash may leave behind the last whole chunk
    said = model.run(many, target, "--bad-rows", "keep")
    assert "resuming after row 2" in said
    assert f"{MANY:,} rows by ticket-router version 1" in said
    assert "32 could not be answered, see the column error" in said
    assert target.read_bytes() == whole.read_bytes()
    assert len(read(target)) == MANY
    assert not parts.exists()


@pytest.mark.slow
def test_interrupted_it_says_how_to_resume(model: Model, several: Path, tmp_path: Path) -> None:
    process = model.halted(several, tmp_path / "out.csv", 1)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    said = "".join(process.communicate(timeout=600))
    assert process.returncode == 130
    assert said.splitlines() == [
        "score: answers the rows",
        "plumbline: interrupted; run the same command again to continue",
    ]
    assert "resuming after row" in model.run(several, tmp_path / "out.csv", "--bad-rows", "keep")


def interrupt(num_rows: int, share: float) -> None:
    if num_rows > 2048:
        raise KeyboardInterrupt


@pytest.mark.parametrize("change", ["nothing", "input", "params", "columns", "state"])
def test_rows_of_another_run_are_not_reused(
    model: Model, several: Path, tmp_path: Path, change: str
) -> None:
    source, target, told = tmp_path / "in.csv", tmp_path / "out.csv", list[str]()
    source.write_bytes(several.read_bytes())
    with pytest.raises(KeyboardInterrupt):
        model.score(source, target, interrupt, keep_bad=True)
    options: dict[str, Any] = {
        "params": {"params": {"top_k": 1}},
        "columns": {"columns": ["label"]},
    }.get(change, {})
    if change == "input":
        source.write_bytes(source.read_bytes().replace(b"\n1,", b"\n7,", 1))  # of the same size
    elif change == "state":
        (tmp_path / ".out.csv.parts/state.json").write_text("{")
    done = model.score(source, target, say=told.append, keep_bad=True, **options)
    assert done.num_rows == SEVERAL
    if change == "nothing":
        assert (told, done.num_before) == (["resuming after row 3,072"], 3072)
    else:
        assert done.num_before == 0
        reason = (
            f"{tmp_path}/.out.csv.parts/state.json is damaged"
            if change == "state"
            else f"{change} changed since"
        )
        assert told[0].startswith(f"starting over: {reason}")
    found = read(target)
    assert len(found) == SEVERAL
    assert found[1]["n"] == ("7" if change == "input" else "1")
    assert ("scores" in found[1]) == (change != "columns")
    assert len(found[1].get("scores", [])) == {"params": 1, "columns": 0}.get(change, 3)


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


def test_a_second_process_is_refused(model: Model, several: Path, tmp_path: Path) -> None:
    target, told = tmp_path / "out.csv", []

    def again(num_rows: int, share: float) -> None:
        with pytest.raises(PlumblineError, match=r"out\.csv: another process is writing it"):
            model.score(several, target, keep_bad=True)
        told.append(num_rows)

    assert model.score(several, target, again, keep_bad=True).num_rows == SEVERAL
    assert len(told) == 4


@pytest.mark.slow
def test_a_full_disk_keeps_the_rows_so_far(model: Model, many: Path, tmp_path: Path) -> None:
    whole, target = tmp_path / "whole.parquet", tmp_path / "out.parquet"
    model.score(many, whole, keep_bad=True)

    def full() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

    said = model.run(many, target, "--bad-rows", "keep", code=1, preexec_fn=full)
    assert f"{target}: cannot be written (File too large); the rows so far are kept" in said
    assert not target.exists()
    assert "resuming after row" in model.run(many, target, "--bad-rows", "keep")
    assert target.read_bytes() == whole.read_bytes()


def test_the_command_needs_neither_mlflow_nor_torch(model: Model, tmp_path: Path) -> None:
    source, target = write(tmp_path / "in.csv", {"text": GOOD}), tmp_path / "out.csv"
    heavy = ("mlflow", "torch", "transformers", "pandas", "great_expectations")
    program = (
        "import sys; from plumbline import cli\n"
        "try: cli.main()\n"
        f"finally: print('loaded:', [name for name in {heavy} if name in sys.modules])"
    )
    command = [
        sys.executable,
        "-c",
        program,
        "score",
        URI,
        str(source),
        str(target),
        "--columns",
        "label,score",
    ]
    done = subprocess.run(
        command, env=model.environment, capture_output=True, text=True, check=True
    )
    assert f"{target}: {len(GOOD)} rows by ticket-router version 1, " in done.stdout
    assert "loaded: []" in done.stdout
    assert done.stderr == ""
    assert list(read(target)[0]) == ["text", "label", "score"]
