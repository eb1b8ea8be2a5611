"""The source is read a part at a time: its first fault is named, and all rows count together."""

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.support.dirty_texts import make_values

from plumbline.contract.errors import DataError
from plumbline.process.files import digest_files, format_json
from plumbline.tasks.text_classification.data import ingest, reading
from plumbline.tasks.text_classification.params import TextParams

LABELS = ["5", "5.0", " 5", "a", "a ", "b", "rare", "none", "N/A", ""]
WEIGHTS = [20, 10, 5, 60, 10, 60, 3, 12, 2, 2]


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    """The current folder: files with copies, nulls and labels of several spellings in each."""
    draw = random.Random(1)
    Path("raw").mkdir()
    for name, num_rows in (("a", 120), ("b", 7), ("c", 90)):
        write_csv(f"raw/{name}.csv", [_draw_row(draw, number) for number in range(num_rows)])
    return folder


def _draw_row(draw: random.Random, number: int) -> tuple[str, str, str]:
    text = f"ticket {draw.randrange(60)}{draw.choice(['', '!', ' please'])}"
    text = draw.choices([text, "", "long " * 900, f"nul \0 {number}"], [90, 3, 1, 1])[0]
    return text, draw.choices(LABELS, WEIGHTS)[0], f"customer {draw.randrange(20)}"


def write_csv(path: str, rows: list[tuple[str, ...]]) -> None:
    lines = ["text,label,customer", *(",".join(row) for row in rows)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def make_params(source: Any, **data: Any) -> TextParams:
    values = make_values(source)
    values["data"]["generated"] |= {"num_rows": 400}
    for key, value in data.items():
        values["data"][key] |= value
    return TextParams.model_validate(values)


def run_ingest(params: TextParams, out: Path) -> tuple[str, str]:
    """Return the digest of all files that were written, and the facts."""
    out.mkdir()
    facts = ingest(params, out, out / "manifest.parquet")
    return digest_files(out), format_json(facts)


def test_the_first_fault_of_the_source_is_named(folder: Path) -> None:
    write_csv("raw/b.csv", [("hi", "a", "c"), ("hi", "there", "a", "c")])
    Path("raw/c.csv").write_text("body,label,customer\nhi,a,c\n")
    with pytest.raises(DataError, match=r"^b\.csv:3: 4 cells where the header has 3"):
        run_ingest(make_params("raw/*.csv"), folder / "out")


def test_a_file_without_rows_is_named_after_the_faults_of_earlier_files(folder: Path) -> None:
    write_csv("raw/b.csv", [])
    refuse = {"policies": {"nulls": "refuse"}}
    write_csv("raw/a.csv", [("hi", "a", "c"), ("ho", "N/A", "c")])
    with pytest.raises(DataError, match=r"^a\.csv:3: the label is null-like \('N/A'\)"):
        run_ingest(make_params("raw/[ab].csv", **refuse), folder / "one")
    with pytest.raises(DataError, match=r"^b\.csv: 0 rows below the header"):
        run_ingest(make_params("raw/b.csv", **refuse), folder / "two")


def test_the_row_with_too_many_labels_is_that_of_all_files_in_order(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_CLASSES", 200)
    first = [(f"text {number}", f"label {number}", "c") for number in range(150)]
    second = [(f"text {number}", f"label {number}", "c") for number in range(50, 1500)]
    write_csv("raw/a.csv", first)
    write_csv("raw/b.csv", [*second, ("a", "fault", "that", "follows")])
    message = r"^b\.csv:152: more than 200 different labels so far, such as 'label 200'"
    with pytest.raises(DataError, match=message):
        run_ingest(make_params("raw/*.csv"), folder / "out")


def test_rows_that_wait_leave_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
    run_ingest(make_params("raw/*.csv"), folder / "one")
    write_csv("raw/c.csv", [("hi", "there", "a", "c")])
    with pytest.raises(DataError, match=r"^c\.csv:2"):
        run_ingest(make_params("raw/*.csv"), folder / "two")
    assert list((folder / "tmp").iterdir()) == []


def test_a_part_without_rows_beside_others_is_a_note(folder: Path) -> None:
    write_csv("raw/b.csv", [])
    _, facts = run_ingest(make_params("raw/[abc].csv"), folder / "out")
    assert '"b.csv: 0 rows"' in facts


def test_a_class_whose_texts_all_look_like_missing_values_does_not_vanish(folder: Path) -> None:
    rows = [(f"text {number}", "ab"[number % 2], "c") for number in range(60)]
    words = [(word, "nothing else", "c") for word in ("none", "nil", "-") * 3]
    write_csv("raw/words.csv", rows + words)
    with pytest.raises(DataError, match=r"^label 'nothing else': the texts of all its 9 rows look"):
        run_ingest(make_params("raw/words.csv"), folder / "out")


@pytest.mark.parametrize(
    ("mark", "remedy"),
    [
        ("state.json", r"set data\.source: saved/\*\.arrow$"),
        ("dataset_dict.json", r"set data\.source\.train: saved/train/\*\.arrow, and so on"),
    ],
)
def test_a_folder_that_save_to_disk_wrote_is_named(folder: Path, mark: str, remedy: str) -> None:
    Path("saved").mkdir()
    Path("saved", mark).write_text("{}")
    with pytest.raises(DataError, match=remedy):
        run_ingest(make_params("hf://./saved"), folder / "out")
