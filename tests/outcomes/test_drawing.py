"""Which rows of a log are drawn for labels, and what their sheet shows and gives back."""

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.support.outcomes import NOW, OTHER, World

from plumbline.contract.errors import DataError
from plumbline.tasks.text_classification.data.splits import find_splits
from plumbline_outcomes import drawing
from plumbline_outcomes.drawing import Drawing

SAMPLE = 0.2
DAYS = Drawing(30)


def draw_sheet(world: World, wanted: Drawing = DAYS) -> tuple[pd.DataFrame, list[str]]:
    if world.rows:
        world.write_log()
    return drawing.draw_rows(world.subject, str(world.log), world.params, NOW, wanted)


@pytest.fixture
def drawn(tmp_path: Path) -> World:
    """1,000 rows of which half are in doubt, with numbers that cover [0, 1) evenly."""
    world = World(tmp_path, doubt=0.25)
    world.params = world.params.model_copy(
        update={"outcomes": world.params.outcomes.model_copy(update={"sample": SAMPLE})}
    )
    for number in range(1000):
        score = 0.5 if number % 2 else 1.0
        world.answer(
            f"r{number}", text=f"text {number}", draw=number / 1000, **{"output.score": score}
        )
    return world


def test_uniform_rows_are_drawn_by_number_and_doubtful_ones_above(drawn: World) -> None:
    sheet, lines = draw_sheet(drawn)
    numbers = sheet["request_id"].str[1:].astype(int)
    uniform = set(numbers[sheet["drawn"] == "uniform"])
    assert uniform == set(range(100))  # below sample / 2
    splits = find_splits(drawn.params, {"text": [f"text {n}" for n in range(1000)]})
    doubtful = set(numbers[sheet["drawn"] == "uncertain"])
    # In doubt 0.1 (1 + 0.5 / 0.25), else 0.1: a row that is sure is never drawn above the uniform.
    assert doubtful == {n for n in range(101, 300, 2) if splits[n] == "train"}
    chance = sheet.set_index("request_id")["probability"]
    assert chance[f"r{min(doubtful)}"] == pytest.approx(0.3)
    assert chance["r0"] == pytest.approx(0.1)  # sure
    held = next(n for n in range(1, 100, 2) if splits[n] == "test")
    trained = next(n for n in range(1, 100, 2) if splits[n] == "train")
    assert chance[f"r{held}"] == pytest.approx(0.1)
    assert chance[f"r{trained}"] == pytest.approx(0.3)  # it would have been drawn above too
    assert "100 uniform" in lines[0]


def test_a_sheet_hides_answers_is_shuffled_and_the_same_again(drawn: World) -> None:
    sheet, _ = draw_sheet(drawn)
    assert list(sheet) == ["request_id", "row", "text", "label", "drawn", "probability", "sheet"]
    numbers = sheet["request_id"].str[1:].astype(int).tolist()
    assert numbers != sorted(numbers)
    pd.testing.assert_frame_equal(sheet, draw_sheet(drawn)[0])
    shown, _ = draw_sheet(drawn, Drawing(30, show_answers=True))
    assert set(shown["answer"]) == {"a"}
    assert set(shown["saw_answer"]) == {"true"}


@pytest.mark.parametrize("form", ["csv", "spreadsheet", "parquet"])
def test_a_sheet_comes_back_as_outcomes(drawn: World, form: str) -> None:
    for number in range(3):
        drawn.answer(f"f{number}", text="=SUM(A1)\n;ü", draw=0.0)
    sheet, _ = draw_sheet(drawn)
    path = drawn.folder / ("sheet.parquet" if form == "parquet" else "sheet.csv")
    drawing.write_sheet(sheet, path)
    if form == "parquet":
        labelled = pd.read_parquet(path)
        assert "=SUM(A1)\n;ü" in set(labelled["text"])
    else:
        assert path.read_bytes().startswith(b"\xef\xbb\xbf")
        labelled = pd.read_csv(path, dtype=str, keep_default_na=False)
        assert "'=SUM(A1)\n;ü" in set(labelled["text"])
    labelled["label"] = "a"
    if form == "parquet":
        labelled.to_parquet(path)
    else:
        separator = ";" if form == "spreadsheet" else ","
        labelled.to_csv(path, index=False, sep=separator, encoding="utf-8-sig")
    report = drawn.look(path=path)
    assert report["champion"]["labelled"] == 103
    assert report["champion"]["coverage"] == 1
    assert report["outcomes"]["joined"]["count"] == len(sheet)
    assert report["slices"] == []
    with pytest.raises(DataError, match="exists, and may have labels"):
        drawing.refuse_sheet(path)


def test_a_bare_carriage_return_stays_in_its_cell(drawn: World) -> None:
    drawn.answer("r", text="hi\r=HYPERLINK(1)", draw=0.0)
    path = drawn.folder / "sheet.csv"
    drawing.write_sheet(draw_sheet(drawn)[0].assign(label="a"), path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        assert not [row for row in csv.reader(file) if row[0].startswith("=")]
    assert drawn.look(path=path)["champion"]["labelled"] == 101


def test_rows_on_which_two_versions_differ(drawn: World) -> None:
    for number, (other, changes) in enumerate([("b", {}), ("a", {}), (None, {})]):
        name = f"p{number}"
        drawn.answer(name, draw=0.99)
        half: dict[str, Any] = {"bundle": OTHER, "side": "shadow", "shown": False} | changes
        drawn.answer(name, other or "", draw=0.99, **half)
        if other is None:  # it gave no answer
            drawn.rows[-1] |= {"output.label": None, "output.score": None, "output.scores": None}
    sheet, _lines = draw_sheet(drawn, Drawing(30, differs=True))
    assert sorted(sheet["request_id"]) == ["p0", "p2"]
    assert set(sheet["drawn"]) == {"differs"}
    assert set(sheet["probability"]) == {1.0}


def test_days_doubles_ambiguous_ids_and_redacted_inputs(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.answer("now", at=NOW, draw=0.0)
    world.answer("old", at=NOW - 9 * drawing.timedelta(days=1), draw=0.0)
    yesterday = NOW - drawing.timedelta(days=1)
    for name, text in (("twice", "t"), ("twice", "t"), ("two", "t"), ("two", "u"), ("bare", None)):
        world.answer(name, at=yesterday, draw=0.0, text=text)
    sheet, lines = draw_sheet(world, Drawing(7))
    assert list(sheet["request_id"]) == ["twice"]
    assert "answered from 2026-03-13 to 2026-03-19 (UTC)" in lines
    assert "1 are left out: the log lacks their inputs" in lines
