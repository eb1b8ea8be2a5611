"""Days are closed once, on a real registry and journal, whatever comes between."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
import pytest
from tests.support.outcomes import NOON, NOW, World, record_outcomes
from tests.support.serving.lines import Lines

from plumbline.contract.errors import DataError
from plumbline.contract.params import Retrain
from plumbline.process.leftovers import remove_leftovers
from plumbline.registry import promotion
from plumbline.registry.desk import Desk
from plumbline.registry.journal import Entry
from plumbline.sources.request_folder import RequestFolder
from plumbline_outcomes import closing

DAY = timedelta(days=1)


@pytest.fixture
def world(registered: Lines, tmp_path: Path) -> Iterator[World]:
    """Two days with 200 answers each, on a registry whose journal goes on from test to test."""
    with registered.here():
        made = World(tmp_path)
        made.live(200, 10)
        made.write_log()
        made.live(200, 10, NOON + DAY, start=200)
        made.write_log()
        yield made


def list_closed(world: World) -> list[Entry]:
    """The entries on the days of this world's log."""
    history = promotion.read_history("line")
    return list(closing.list_closed(history, RequestFolder(str(world.log)).digest).values())


def count_requests() -> int:
    return sum(entry.action == "retrain" for entry in promotion.read_history("line"))


def test_an_old_day_is_closed_and_later_labels_change_nothing(world: World) -> None:
    young = world.look(record=True, now=NOON + 7 * DAY)
    assert (young["verdict"], young["closed"]) == ("too few rows", [])
    first = world.look(record=True, now=NOON + 8 * DAY)
    assert first["closed"] == ["2026-03-10"]
    assert (first["champion"]["labelled"], first["verdict"]) == (200, "holds")
    world.outcomes = [row | {"label": "b"} for row in world.outcomes[:200]] + world.outcomes[200:]
    both = world.look(record=True)
    assert both["closed"] == ["2026-03-10", "2026-03-11"]
    assert (both["champion"]["mean"], both["verdict"]) == (0.95, "holds")
    assert "200 outcomes of days that are closed" in both["lines"]
    again = world.look(record=True)
    assert (again["champion"], again["closed"]) == (both["champion"], both["closed"])
    assert len(list_closed(world)) == 2


def test_a_closed_day_has_no_text_and_no_id(world: World) -> None:
    world.answer("customer-81", text="where is my parcel")
    world.look(record=True)
    for path in world.log.glob("closed-*"):
        table = pd.read_parquet(path)
        texts = " ".join(map(str, table.drop(columns=["bundle", "version", "side"]).to_numpy()))
        assert not {"customer-81", "parcel"} & set(texts.replace("'", " ").split())
    (entry, _) = list_closed(world)
    assert '"answers":201,"labelled":200,"right":190.0' in entry.reason


def test_equal_rows_give_equal_files(world: World, tmp_path: Path) -> None:
    """Whatever the order in which they were logged, and which other days are closed with them."""
    files = []
    for order, now in ((1, NOON + 8 * DAY), (-1, NOW)):
        own = World(tmp_path / str(order), world.params)
        for number, label in [*enumerate("abc")][::order]:
            own.answer(f"r{number}", label, text=f"text {number}")
            own.tell(f"r{number}")
        own.write_log()
        own.live(9, 1, NOON + DAY, start=3)
        own.look(record=True, now=now)
        files.append((own.log / "closed-line-2026-03-10.parquet").read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("damage", ["edit", "delete"])
def test_a_changed_closed_day_is_refused(world: World, damage: str) -> None:
    world.look(record=True)
    path = world.log / "closed-line-2026-03-10.parquet"
    if damage == "edit":
        pd.read_parquet(path).assign(score=1.0).to_parquet(path, index=False)
    else:
        path.unlink()
    with pytest.raises(DataError, match=r"closed-line-2026-03-10.parquet: .*Restore it from"):
        world.look(record=True)
    world.history = tuple(promotion.read_history("line"))
    found = world.look()
    assert (found["champion"]["labelled"], found["verdict"]) == (400, "holds")
    assert "closed-line-2026-03-10.parquet: " in found["lines"]


def test_a_day_with_missing_files_stays_open_until_somebody_accepts_it(world: World) -> None:
    world.live(200, 10, NOON + 2 * DAY, start=400)
    world.write_log(sequence=5)
    report = world.look(record=True)
    assert report["closed"] == ["2026-03-10"]
    assert "3 files of the log are missing" in report["lines"]
    assert "2026-03-11 stays open: 3 files of the log between 2026-03-11 and" in report["lines"]
    accepted = world.look(record=True, accepted="the disk was full")
    assert accepted["closed"] == ["2026-03-10", "2026-03-11", "2026-03-12"]
    assert '"accepted":"the disk was full"' in list_closed(world)[-1].reason


@pytest.mark.parametrize("moment", ["before the file", "after the file", "after the entry"])
def test_a_run_that_is_killed_is_finished_by_the_next(
    world: World, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, note = RequestFolder.write, Desk.note
    with monkeypatch.context() as patch:

        def die_at_the_file(*args: object) -> None:
            if moment == "after the file":
                write(*args)  # type: ignore[arg-type]
            raise KeyboardInterrupt

        def die_at_the_entry(*args: object) -> None:
            note(*args)  # type: ignore[arg-type]
            raise KeyboardInterrupt

        if moment == "after the entry":
            patch.setattr(Desk, "note", die_at_the_entry)
        else:
            patch.setattr(RequestFolder, "write", die_at_the_file)
        with pytest.raises(KeyboardInterrupt):
            world.look(record=True)
    kept = {path.name: path.read_bytes() for path in world.log.glob("closed-*")}
    assert len(kept) == (moment != "before the file")
    # On another machine, which knows other labels by now.
    other = replace(world, outcomes=[row | {"label": "b"} for row in world.outcomes])
    other.look(record=True)
    assert {name: (world.log / name).read_bytes() for name in kept} == kept
    entries = list_closed(world)
    assert len(entries) == 2
    world.look(record=True)
    assert list_closed(world) == entries


def die() -> str:
    """What a process that is killed has for the name of a file that it wrote."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def test_a_file_of_a_server_that_is_about_to_have_its_name_is_no_leftover(tmp_path: Path) -> None:
    folder = RequestFolder(str(tmp_path))

    def name_late() -> str:
        remove_leftovers(tmp_path)  # of a --record meanwhile
        return "requests-1.parquet"

    folder.write(name_late, b"rows")
    assert folder.list_names() == ["requests-1.parquet"]


def test_what_a_killed_run_left_is_removed_by_the_next(world: World) -> None:
    write = RequestFolder(str(world.log)).write
    run = get_context("fork").Process(target=write, args=(die, b"rows"))
    run.start()
    run.join()
    assert len(list(world.log.glob(".*"))) == 1
    world.look(record=True)
    assert not list(world.log.glob(".*"))


def test_two_machines_at_once_close_a_day_once(world: World) -> None:
    other = replace(world, outcomes=[row | {"label": "b"} for row in world.outcomes])
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        first, second = pool.map(record_outcomes, [world, other])
    assert first == second == ["2026-03-10", "2026-03-11"]
    assert len(list_closed(world)) == 2
    assert world.look(record=True)["closed"] == first


def test_days_are_those_of_utc(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")  # where noon of UTC is the next day
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        closed = pool.submit(record_outcomes, world).result()
    assert closed == ["2026-03-10", "2026-03-11"]


def test_answers_that_come_after_their_day_was_closed_change_nothing(world: World) -> None:
    world.answer("r399", "c", at=NOON + 1.5 * DAY)  # a retry
    for row, text in ((0, "one"), (0, "other"), (1, "sound")):
        world.answer("in doubt", row=row, text=text)
    before = world.look(record=True)
    assert "closed before they came" not in before["lines"]
    world.answer("late", at=NOON + DAY / 4)
    world.write_log().rename(world.log / "requests-20260319T000000-late.parquet")
    after = world.look(record=True)
    assert after["champion"] == before["champion"]
    assert "1 answers of days that were closed before they came: left out" in after["lines"]
    world.answer("r0", "b", at=NOW - DAY / 2)  # a retry, of the same unit
    assert world.look(record=True)["champion"]["answered"] == 400


def test_a_look_knows_the_days_that_are_closed(world: World) -> None:
    """Their files are gone from the log, and people still send the old labels."""
    world.look(record=True, now=NOON + 8 * DAY)
    world.history = tuple(promotion.read_history("line"))
    for path in world.log.glob("requests-20260310*"):
        path.unlink()
    found = world.look()
    assert "200 outcomes of days that are closed" in found["lines"]
    assert (found["champion"]["labelled"], found["closed"]) == (200, [])


def test_a_worse_champion_requests_training_once_for_each_closed_day(world: World) -> None:
    world.outcomes = [row | {"label": "b"} for row in world.outcomes]
    world.answer(world.folder.name, at=NOON + DAY)  # no day of another test has it
    before = count_requests()
    assert world.look()["verdict"] == "worse"
    assert count_requests() == before
    report = world.look(record=True)
    assert report["verdict"] == "worse"
    assert "training requested, journal entry" in report["reason"]
    again = world.look(record=True)
    assert again["verdict"] == "watch"
    assert "already requested for these days" in again["reason"]
    assert count_requests() == before + 1
    world.live(200, 200, NOON + 2 * DAY, start=400)
    drift = world.params.drift.model_copy(update={"retrain": Retrain(per_day=1)})
    world.params = world.params.model_copy(update={"drift": drift})
    limited = world.look(record=True)
    assert limited["verdict"] == "watch"
    assert "times within a day, the most allowed" in limited["reason"]


def test_files_that_are_missing_after_a_closed_day_are_seen_at_the_next_look(world: World) -> None:
    assert world.look(record=True, now=NOON + 8 * DAY)["closed"] == ["2026-03-10"]
    names = sorted(path.name for path in world.log.glob("requests-20260311*"))
    (world.log / names[0]).unlink()
    del world.outcomes[200:]
    world.live(200, 10, NOON + DAY, start=400)
    world.write_log()
    later = world.look(record=True)
    assert later["closed"] == ["2026-03-10"]
    assert "2026-03-11 stays open: 1 files" in later["lines"]


def test_outcomes_of_a_closed_request_with_several_rows_are_no_strangers(world: World) -> None:
    for number in range(100):
        for row in range(8):
            world.answer(f"eight{number}", row=row, text=f"{number} {row}")
            world.tell(f"eight{number}", row=row)
    world.write_log()
    assert world.look(record=True, now=NOON + 8 * DAY)["closed"] == ["2026-03-10"]
    world.live(200, 10, NOON + DAY, start=600)
    world.write_log()
    assert world.look(record=True)["closed"] == ["2026-03-10", "2026-03-11"]
