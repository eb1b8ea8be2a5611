"""Labelled requests as training rows: which, in which file, and in which split they end."""

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from tests.support.dirty_texts import make_values
from tests.support.outcomes import NOON, NOW, World

from plumbline.contract.errors import DataError, ParamsError
from plumbline.contract.task import SPLITS
from plumbline.sources.request_folder import RequestFolder
from plumbline.tasks.text_classification.data import find_splits, ingest
from plumbline.tasks.text_classification.params import TextParams
from plumbline_outcomes import drawing, exporting
from plumbline_outcomes.drawing import Drawing

DAY = timedelta(days=1)


def make_params(source: Any, **data: Any) -> TextParams:
    values = make_values(source)
    values["data"]["columns"]["metadata"] = []
    values["data"] |= data
    values["outcomes"] = {"sample": 0.2}
    return TextParams.model_validate(values)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """900 rows of three days; of each day every tenth is drawn, the others are in doubt."""
    made = World(tmp_path, params=make_params("raw/*"), doubt=0.25)
    for number in range(900):
        at = NOON + number % 3 * DAY
        draw = (number // 3 + 0.5) / 300
        made.answer(f"r{number}", text=f"text {number}", at=at, draw=draw, **{"output.score": 0.5})
    made.write_log()
    return made


def export(world: World, outcomes: pd.DataFrame, **options: Any) -> tuple[pd.DataFrame, str]:
    """Write outcomes and the training rows; return these, each with its file, and what was said."""
    path, out = world.folder / "outcomes.csv", world.folder / "raw"
    outcomes.to_csv(path, index=False)
    log, now = str(world.log), options.pop("now", NOW)
    subject, params = world.subject, options.pop("params", world.params)
    counts = exporting.export_rows(subject, log, str(path), str(out), params, now, **options)
    files = {file.name: pd.read_parquet(file) for file in sorted(out.glob("*.parquet"))}
    tables = [table.assign(file=name) for name, table in files.items()]
    told = "\n".join(exporting.describe_counts(counts, str(out)))
    return pd.concat(tables) if tables else pd.DataFrame(), told


def label(world: World) -> pd.DataFrame:
    """The labelled sheet of what is drawn."""
    sheet, _ = drawing.draw_rows(world.subject, str(world.log), world.params, NOW, Drawing(30))
    return sheet.assign(label="a", at=str(NOW - DAY))


def test_a_labelled_sheet_becomes_rows_with_their_provenance(world: World) -> None:
    sheet = label(world)
    facts = f'{{"day":"2026-03-11","log":"{RequestFolder(str(world.log)).digest}"}}'
    world.history = (SimpleNamespace(action="outcomes", number=41, reason=f"closed {facts}"),)
    rows, told = export(world, sheet)
    uniform = rows[rows["file"].str.startswith("outcomes-uniform-")]
    assert len(uniform) == 90
    assert set(uniform["drawn"]) == {"uniform"}
    assert f"{len(sheet)} training rows" in told
    assert f"90 by chance for any split, {len(sheet) - 90} chosen for train" in told
    assert sorted(set(rows["file"])) == [
        f"outcomes-{kind}-2026-03-{day}.parquet"
        for kind in ("chosen", "uniform")
        for day in (10, 11, 12)
    ]
    row = rows.set_index("request_id").loc["r1"]
    assert row["answered_at"] == "2026-03-11T12:00:00+00:00"
    assert row["labelled_at"] == (NOW - DAY).isoformat()
    assert (row["text"], row["label"], row["row"], row["source"]) == ("text 1", "a", 0, "human")
    assert (row["bundle"], row["entry"]) == (world.subject.champion.bundle, 41)
    chances = sheet.set_index("request_id")["probability"]
    written = rows.set_index("request_id")["probability"]
    pd.testing.assert_series_equal(written, chances[written.index], check_names=False)


@pytest.mark.parametrize("by", ["text", "time", "given", "group"])
def test_no_chosen_row_reaches_a_held_out_split(
    world: World, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels were volunteered for all rows of two days, but for so many that none is whole."""
    monkeypatch.chdir(world.folder)
    (world.folder / "raw").mkdir()
    days = pd.date_range("2026-01-01", "2026-04-17", periods=300).strftime("%Y-%m-%d")
    texts = [f"known {number}" for number in range(300)]
    own = {"text": texts, "label": 150 * ["a", "b"], "day": days, "team": texts}
    pd.DataFrame(own).to_csv(world.folder / "raw/own.csv", index=False)
    split = {"by": "text", "column": None, "validation": 0.15, "test": 0.2}
    source: Any = "raw/*"
    if by in ("time", "group"):
        split |= {"by": by, "column": "day" if by == "time" else "team"}
    data: dict[str, Any] = {"split": split}
    if by == "given":
        test = {"text": [f"text {n}" for n in range(0, 900, 9)], "label": 50 * ["a", "b"]}
        pd.DataFrame(test).to_csv(world.folder / "test.csv", index=False)
        source = {"train": "raw/*", "validation": None, "test": "test.csv"}
        data |= {"watch": ".", "policies": world.params.data.policies.model_dump()}
        with pytest.raises(ParamsError, match="leakage: drop"):
            export(world, label(world), params=make_params(source, **data))
        data["policies"]["leakage"] = "drop"
    params = make_params(source, **data)
    told = [n for n in range(900) if n % 7]
    outcomes = pd.DataFrame({"request_id": [f"r{n}" for n in told], "label": "a", "team": "t"})
    rows, said = export(world, outcomes, params=params)

    examples = world.folder / "out"
    examples.mkdir()
    facts = ingest(params, examples, examples / "manifest.parquet")

    manifest = pd.read_parquet(examples / "manifest.parquet")
    held = manifest[manifest["split"] != "train"]
    assert len(held) > 50
    chosen = set(manifest.loc[manifest["id"].str.contains("outcomes-chosen"), "digest"])
    assert not held["id"].str.contains("outcomes-chosen").any()
    assert chosen.isdisjoint(held["digest"])
    counted = facts["outcomes"]["train"].get("chosen", 0), facts["dropped"]["chosen"]["rows"]
    num_chosen = int(rows["file"].str.contains("chosen").sum())
    if by == "text":
        assert counted == (num_chosen, 0)  # none was labelled in vain
        splits = find_splits(params, {"text": [f"text {n}" for n in told]})
        assert "of a text that belongs to validation or test" in said
        assert num_chosen >= 0.8 * splits.count("train")
    if by == "time":
        assert min(counted) > 0  # those of the newest days wait
    assert f"{sum(facts['outcomes']['train'].values())} of" in " ".join(facts["notices"])
    assert [facts["splits"][name] > 0 for name in SPLITS] == [True, True, True]


def test_only_a_sample_of_chance_is_uniform(world: World) -> None:
    """Of a day of which the drawn rows were not all labelled, somebody chose which were."""
    sheet = label(world)
    is_first = sheet["request_id"].str[1:].astype(int) % 3 == 0
    drawn = sheet[sheet["drawn"] == "uniform"]
    rows, _ = export(world, sheet.drop(drawn.index[is_first[drawn.index]][:20]))
    uniform = rows[rows["file"].str.startswith("outcomes-uniform-")]
    assert set(uniform["answered_at"].str[:10]) == {"2026-03-11", "2026-03-12"}


def test_a_day_that_is_labelled_whole_is_a_sample(world: World) -> None:
    told = [f"r{n}" for n in range(0, 900, 3)]
    rows, _ = export(world, pd.DataFrame({"request_id": told, "label": "b"}))
    assert set(rows["file"]) == {"outcomes-uniform-2026-03-10.parquet"}
    assert set(rows["drawn"]) == {"all"}
    assert set(rows["probability"]) == {1.0}


def test_a_later_sheet_leaves_a_sample_as_it_is(world: World) -> None:
    """A correction is of few rows of a day: these were drawn by chance all the same."""
    sheet = label(world)
    before, _ = export(world, sheet)
    few = sheet[sheet["drawn"] == "uniform"][:40].assign(label="b", at=str(NOW))
    after, _ = export(world, few)
    files = [rows.set_index("request_id")["file"] for rows in (before, after)]
    pd.testing.assert_series_equal(*files, check_like=True)
    assert (after["label"] == "b").sum() == 40


def test_a_chosen_row_that_somebody_moved_to_those_of_chance_is_named(world: World) -> None:
    sheet = label(world)
    rows, _ = export(world, sheet)
    chosen = rows[rows["file"] == "outcomes-chosen-2026-03-10.parquet"].drop(columns="file")
    path = world.folder / "raw/outcomes-uniform-2026-03-10.parquet"
    pd.concat([pd.read_parquet(path), chosen[:1]]).to_parquet(path)
    name = chosen["request_id"].iloc[0]
    with pytest.raises(DataError, match=f"{path.name}: the row of request '{name}' was chosen"):
        export(world, sheet)


def test_a_column_of_outcomes_says_nothing_of_where_a_row_is_from(world: World) -> None:
    sheet = label(world).assign(bundle="other", entry="x", answered_at="2020-01-01")
    rows, _ = export(world, sheet)
    assert set(rows["bundle"]) == {world.subject.champion.bundle}
    assert set(rows["answered_at"].str[:7]) == {"2026-03"}


def test_labels_that_are_no_truths_are_left_out_or_refused(world: World) -> None:
    sheet = label(world)
    rows, told = export(world, sheet.assign(source="model"))
    assert rows.empty
    assert f"{len(sheet)} labels left out: by a model" in told
    rows, _ = export(world, sheet.assign(saw_answer="true"), trust=True)
    assert set(rows["file"].str[:16]) == {"outcomes-chosen-"}
    with pytest.raises(DataError, match="whether an answer was liked"):
        export(world, sheet.drop(columns="label").assign(value="1"))
    with pytest.raises(DataError, match="labels are older than their answers"):
        export(world, sheet.assign(at=str(NOON - DAY)))
    with pytest.raises(DataError, match="'A ' for 'a'"):
        export(world, sheet.assign(label="A "))
    world.answer("bare", text=None, at=NOON - DAY)
    world.write_log()
    bare = pd.concat([pd.DataFrame({"request_id": ["bare"], "label": ["a"]}), sheet])
    assert "1 labels left out: without inputs in the log (--redact)" in export(world, bare)[1]
    world.plan = SimpleNamespace(begin=NOON + DAY, ended="")
    rows, told = export(world, sheet)
    assert set(rows["answered_at"].str[:10]) == {"2026-03-10"}
    assert "of an open trial" in told


def test_what_was_exported_stays_until_its_label_changes(world: World) -> None:
    """Also after the log is gone; a sheet of one week does not take back that of another."""
    sheet = label(world)
    half = sheet["request_id"].str[1:].astype(int) < 450
    export(world, sheet[half])
    rows, _ = export(world, sheet[~half])
    assert sorted(rows["request_id"]) == sorted(sheet["request_id"])
    for file in world.log.iterdir():
        file.unlink()
    world.answer("new", at=NOW - DAY)
    world.write_log()
    first = sheet["request_id"].iloc[0]
    gone = {"request_id": first, "label": "a", "withdrawn": "true", "at": str(NOON)}
    rows, _ = export(world, pd.DataFrame([gone, {"request_id": "new", "label": "c"}]))
    assert sorted(rows["request_id"]) == sorted({*sheet["request_id"], "new"} - {first})


def test_labels_of_requests_that_the_log_has_no_more_leave_their_rows(world: World) -> None:
    sheet = label(world)
    rows, _ = export(world, sheet)
    old = sorted(world.log.glob("requests-*"))
    world.answer("new", text="text new", at=NOON + 40 * DAY, draw=0.0)
    world.write_log()
    for path in old:
        path.unlink()
    new = pd.DataFrame([{"request_id": "new", "row": 0, "label": "a", "at": str(NOON + 41 * DAY)}])
    again, _ = export(world, pd.concat([sheet, new]), now=NOON + 42 * DAY)
    assert set(rows["request_id"]) < set(again["request_id"])
