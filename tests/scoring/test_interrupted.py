"""A scoring run that is interrupted, or whose files change, leaves no output."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.scored_files import GOOD, Model, nothing_left, prepare_model, read, write

from plumbline.contract.errors import DataError

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
def model(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Model:
    return prepare_model(tmp_path_factory, worker_id)


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
