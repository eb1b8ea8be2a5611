"""Each fault is planted in a sound log and a sound file of labels; something has to say so."""

import json
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.support.outcomes import NOON, NOW, OTHER, World

from plumbline.contract.errors import DataError, PlumblineError
from plumbline.contract.params import Groups
from plumbline_outcomes import check, joining, live_score
from plumbline_outcomes.joining import JoinedRows

DAY = timedelta(days=1)


def plant_an_unknown_id(world: World) -> str:
    world.tell("nobody")
    return "not joined: 1 of no request in the log, such as 'nobody'"


def plant_ids_of_another_server(world: World) -> str:
    for number in range(150):
        world.tell(f"other{number}")
    return "!150 of 550 outcomes have an id that the log does not know.*one of the log is 'r0': ids"


def plant_an_id_older_than_the_log(world: World) -> str:
    world.tell("long ago", at="2026-01-01T00:00:00Z")
    return "1 older than the log .*log_days"


def plant_an_outcome_twice(world: World) -> str:
    world.tell("r399")
    return "holds: 400 of 400 labelled"


def plant_a_contradiction(world: World) -> str:
    world.tell("r399", "c")
    return "holds: 399 of 400 labelled.*1 that contradict each other, such as 'r399'"


def plant_two_sources_that_contradict(world: World) -> str:
    world.outcomes[399] |= {"at": NOON + DAY, "source": "system"}
    world.tell("r399", "c", at=NOON + 2 * DAY, source="human")
    return "holds: 399 of 400 labelled.*contradict each other, such as 'r399'"


def plant_two_labels_of_one_moment(world: World) -> str:
    world.outcomes[399] |= {"at": NOON + DAY}
    world.tell("r399", "c", at=NOON + DAY)
    return "holds: 399 of 400 labelled.*contradict each other, such as 'r399'"


def plant_a_correction(world: World) -> str:
    world.outcomes[399] |= {"at": NOON + DAY}
    world.tell("r399", "c", at=NOON + 2 * DAY)
    return "holds: 400 of 400 labelled, 379 right"


def plant_a_label_that_is_given_again(world: World) -> str:
    world.tell("r399", "a", withdrawn="true", at=NOON + DAY)
    world.tell("r399", "c", at=NOON + 2 * DAY)
    world.tell("r398", "a", withdrawn="true", at=NOON + 2 * DAY)
    world.outcomes[398] |= {"at": NOON + DAY}
    world.outcomes[399] |= {"at": NOON}
    return "holds: 399 of 400 labelled, 378 right.*1 withdrawn, such as 'r398'"


def plant_a_retry_with_a_number_as_another_client_sends_it(world: World) -> str:
    world.rows = [row | {"input.text": number} for number, row in enumerate(world.rows)]
    retried = dict(world.rows[399]) | {"at": NOON + DAY, "input.text": 399.0}
    world.write_log()
    world.rows = [retried]
    return "holds: 400 of 400 labelled, 380 right"


def plant_eight_rows_without_a_number(world: World) -> str:
    for row in range(8):
        world.answer("eight", row=row, text=f"t{row}")
    world.tell("eight")
    return "1 without `row`, of a request with several rows, such as 'eight'"


def plant_row_nine_of_eight(world: World) -> str:
    for row in range(8):
        world.answer("eight", row=row, text=f"t{row}")
        world.tell("eight", "a", row=row)
    world.tell("eight", "a", row=8)
    return "holds: 408 of 408 labelled.*1 of no request in the log, such as 'eight'"


def plant_rows_that_are_counted_from_one(world: World) -> str:
    for row in range(8):
        world.answer("eight", row=row, text=f"t{row}")
        world.tell("eight", "a", row=row + 1)
    return "!1 outcomes name a row after the last one of their request, such as 'eight'.*from 0"


def plant_an_id_with_other_inputs(world: World) -> str:
    world.answer("r399", text="another question")
    return "holds: 399 of 399.*1 of an id with several inputs.*2 rows of the log whose id has"


def plant_a_request_of_many_rows(world: World) -> str:
    for row in range(400):
        world.answer("long", row=row, text=f"t{row}")
        world.tell("long", row=row)
    return r"0\.950 right of 800 rows in 401 requests .*weighs the same, by rows 0\.975"


def plant_a_retry(world: World) -> str:
    world.answer("r399", "c", at=NOON + timedelta(seconds=1))
    return "holds: 400 of 400 labelled, 380 right"


def plant_labels_before_the_answers(world: World) -> str:
    for row in world.outcomes:
        row["at"] = NOON - DAY
    return "holds: 400 of 400 .*100% of labels are older than the answer"


def plant_a_server_an_hour_ahead(world: World) -> str:
    world.answer("ahead", at=NOW + timedelta(hours=1))
    return "1 rows are from after now: the clock of a server is ahead"


def plant_a_new_class(world: World) -> str:
    world.outcomes[399]["label"] = "d"
    return "400 labelled, 379 right.*'d' are labels that the model never gives: their answers count"


def plant_labels_that_a_model_without_classes_never_gives(world: World) -> str:
    world.classes = frozenset()
    for row in world.outcomes:
        row["label"] = "00123"
    return "!none of 400 answers is right: labels are such as"


def plant_a_label_with_a_blank_and_case(world: World) -> str:
    world.outcomes[399]["label"] = "A "
    return "!1 labels are not written as the model's answers are: 'A ' for 'a'"


def plant_whole_numbers_as_a_table_with_gaps_writes_them(world: World) -> str:
    world.classes = frozenset(("0", "1"))
    for row in (*world.rows, *world.outcomes):
        name = "output.label" if "output.label" in row else "label"
        row[name] = {"a": "0", "b": "1"}[row[name]]
    for row in world.outcomes[200:]:
        row["label"] += ".0"
    world.tell("r0", "1.0")
    return "holds: 400 of 400 labelled, 380 right"


def plant_numbers_in_place_of_labels(world: World) -> str:
    for row in world.outcomes:
        row["label"] = {"a": "0", "b": "1"}[row["label"]]
    return "!none of 400 answers is right: labels are such as '0', '1', .*answers such as"


def plant_reactions(world: World) -> str:
    world.outcomes = [{"request_id": f"r{number}", "value": number % 2} for number in range(400)]
    return "cannot tell: 400 of 400 labelled, 200 right"


def plant_a_file_in_place_of_the_log(world: World) -> str:
    world.log.write_text("")
    world.rows = []
    return "!log: a file; expected the folder"


def plant_a_version_of_another_number(world: World) -> str:
    for row in world.rows:
        row["version"] = "7"
    return "holds: 400 of 400 labelled"


def plant_another_bundle_of_the_same_number(world: World) -> str:
    for row in world.rows:
        row["bundle"] = OTHER
    return "too few rows: 0 of 0 labelled.*it answered no row of this log"


def plant_a_cut_file(world: World) -> str:
    path = world.write_log()
    path.write_bytes(path.read_bytes()[:-100])
    return r"!requests-.*: not a log of requests .*move it out"


def plant_a_foreign_file(world: World) -> str:
    world.rows = [{"at": NOON, "x": 1}]
    world.write_log()
    return "!requests-.*: not a log of requests .*no column request_id"


def plant_a_log_of_before(world: World) -> str:
    for row in world.rows:
        for name in ("row", "bundle", "draw", "shown"):
            del row[name]
    return "!an earlier version of plumbline wrote it, without numbers of rows"


def plant_a_hook_that_drops_inputs(world: World) -> str:
    for row in world.rows:
        row["input.text"] = None
    world.answer("r399", "c", at=NOON + timedelta(seconds=1), text=None)
    return "holds: 399 of 399.*1 of an id with several inputs"


def plant_labels_of_errors_alone(world: World) -> str:
    world.outcomes = world.outcomes[:20]
    return "cannot tell: .*decide nothing, of rows that chance did not draw: 20, 0.000 right"


def plant_labellers_who_skip_hard_rows(world: World) -> str:
    for number, row in enumerate(world.rows):
        row["draw"] = 0.005 if number < 200 else 0.5
    world.outcomes = world.outcomes[30:200]
    return "cannot tell: 170 of 200 labelled"


def plant_days_of_one_request_of_which_errors_are_labelled(world: World) -> str:
    world.rows, world.outcomes = [], []
    for number in range(60):
        world.answer(f"r{number}", at=NOON - number * DAY)
    for number in range(4):
        world.tell(f"r{number}", "b")
    return "cannot tell: 0 of 0 labelled"


def plant_losses_at_the_end(world: World) -> str:
    world.write_log()
    world.num_files += 1
    about = {"writer": "f00d", "sequence": 1, "lost": {"write": {"champion": 7}}}
    path = sorted(world.log.glob("requests-*"))[-1]
    empty = (
        pq.read_table(path).slice(0, 0).replace_schema_metadata({"plumbline": json.dumps(about)})
    )
    pq.write_table(empty, path.with_name(path.name.replace("-0000", "-0001")))
    return r"7 rows were lost by the server \(write, champion\)"


def plant_a_withdrawal_by_a_model(world: World) -> str:
    world.tell("r399", source="model", withdrawn=True)
    return "holds: 400 of 400 labelled, 380 right"


def plant_labels_by_a_model(world: World) -> str:
    for row in world.outcomes:
        row["source"] = "model"
    return "cannot tell: .*labels that decide nothing.*: 400, 0.950 right"


def plant_labels_by_a_model_against_those_of_people(world: World) -> str:
    for number in range(400):
        world.tell(f"r{number}", "c", source="model")
    return "holds: 400 of 400 labelled, 380 right"


def plant_a_label_with_and_without_a_row(world: World) -> str:
    for number in range(400):
        world.tell(f"r{number}", "b" if number < 20 else "a", row=0)
    return "holds: 400 of 400 labelled, 380 right"


def plant_a_fraction_of_a_row(world: World) -> str:
    world.outcomes[399]["row"] = "1.7"
    return "!outcomes.csv, row 401: row: expected a whole number"


def plant_labels_after_seeing_the_answer(world: World) -> str:
    for row in world.outcomes:
        row["saw_answer"] = "true"
    return "cannot tell: .*labels that decide nothing.*: 400, 0.950 right"


def plant_a_worse_model(world: World) -> str:
    for row in world.outcomes[:80]:
        row["label"] = "b"
    return "worse: 400 of 400 labelled, 320 right.*its evidence says 0.950, at least 0.930"


def plant_a_day_that_is_nearly_labelled_as_a_whole(world: World) -> str:
    world.rows[0]["draw"] = 0.001
    del world.outcomes[300:]
    return "few rows: 1 of 1 .*300 of all 400 rows have a label; those of a day decide where 90%"


def plant_two_groups_that_may_be_equal(world: World) -> str:
    plant_two_groups_that_are_apart(world)
    for number, row in enumerate(world.outcomes):
        row["team"] = "xy"[number % 2]
    return r"worst groups: team=(?!.*more often)"


def plant_two_groups_that_are_apart(world: World) -> str:
    groups = Groups(columns=["team"], rate="error", max_gap=0.05, min_rows=50)
    evaluation = world.params.evaluation.model_copy(update={"groups": groups})
    world.params = world.params.model_copy(update={"evaluation": evaluation})
    for number, row in enumerate(world.outcomes):
        row["team"] = "xy"[number < 100]
    return r"team=x is right 0\.200 more often than team=y \(0\.0.*max_gap is 0\.05"


def plant_outcomes_without_the_column_of_groups(world: World) -> str:
    plant_two_groups_that_are_apart(world)
    for row in world.outcomes:
        row["Team"] = row.pop("team")
    return "holds: .*no column 'team' of evaluation.groups: its groups are not compared"


def plant_a_time_that_no_calendar_has(world: World) -> str:
    world.outcomes[399]["at"] = "20260-11-20"
    return "!outcomes.csv, row 401: at: expected a time"


def plant_flags_as_a_table_of_numbers_writes_them(world: World) -> str:
    for number, row in enumerate(world.outcomes):
        row["withdrawn"] = float(number == 399)
    return "holds: 399 of 400 labelled.*1 withdrawn"


def plant_ids_in_a_column_of_another_name(world: World) -> str:
    world.outcomes = [{"id": row["request_id"], "label": row["label"]} for row in world.outcomes]
    return r"!outcomes.csv: no column 'request_id'.*is it 'id'\? then call it 'request_id'"


def plant_a_source_that_nobody_knows(world: World) -> str:
    world.outcomes[399]["source"] = "oracle"
    return "!outcomes.csv, row 401: source: expected human, system or model"


PLANTED = [value for name, value in list(globals().items()) if name.startswith("plant_")]


def describe(report: dict[str, Any]) -> str:
    score = report["champion"] or {"labelled": 0, "deciding": 0, "mean": None}
    right = round((score["mean"] or 0) * score["labelled"])
    counted = f"{score['labelled']} of {score['deciding']} labelled, {right} right"
    return f"{report['verdict']}: {counted}\n{report['reason']}\n{report['lines']}"


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_named(plant: Callable[[World], str], tmp_path: Path) -> None:
    world = World(tmp_path)
    world.live()
    expected = plant(world)
    if expected.startswith("!"):
        with pytest.raises(DataError) as caught:
            world.look()
        said = str(caught.value)
    else:
        said = describe(world.look())
    assert re.search(expected.removeprefix("!"), said, re.DOTALL), said


def test_a_sound_log_holds(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.live()
    report = world.look()
    assert describe(report).startswith("holds: 400 of 400 labelled, 380 right")
    assert report["champion"]["low"] < 0.95 < report["champion"]["high"]
    assert report["lines"].count("\n") == 0, report["lines"]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("https://me:secret@host/a.csv?key=secret", "https://host/a.csv: .* download the file"),
        ("nowhere://bucket/a.csv", "nowhere://bucket/a.csv: Protocol not known"),
    ],
)
def test_an_address_that_is_not_read_is_named(address: str, said: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    world.answer("r0")
    with pytest.raises(PlumblineError, match=f"^{said}"):
        world.look(path=address)


@pytest.mark.slow
def test_memory_does_not_grow_with_outcomes(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.live()
    world.write_log()
    rows = "".join(f"{row['request_id']},{row['label']}\n" for row in world.outcomes)
    world.outcomes, peaks, path = [], [], tmp_path / "outcomes.csv"
    for times in (50, 1000):
        path.write_text("request_id,label\n" + times * rows)
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            pool.submit(world.look, path=path).result()
            status = pool.submit(Path("/proc/self/status").read_text).result()
        peaks.append(int(status.partition("VmHWM:")[2].split()[0]) // 1000)
    assert peaks[1] < peaks[0] + 100, f"{peaks} MB"


def pass_all(rows: Any, *_: float) -> Any:
    rows = rows.copy()
    rows["labelled"] = rows["decides"] = rows["score"].notna()
    rows["whole"] = True
    return rows


def find_none(*_: Any, **__: Any) -> list[str]:
    return []


def unguard(plant: Any, name: str, guard: str, size: int) -> tuple[Any, ...]:
    sql = getattr(joining, name)
    assert guard in sql
    return (plant, joining, name, sql.replace(guard, "false"), ("holds", size))


# What is in place of a guard, and what is said then: the verdict, and how many labels decide.
GUARDS = [
    (plant_labels_of_errors_alone, live_score, "mark_deciding", pass_all, ("worse", 20)),
    (plant_labels_by_a_model, live_score, "mark_deciding", pass_all, ("holds", 400)),
    (plant_labellers_who_skip_hard_rows, live_score, "mark_deciding", pass_all, ("holds", 170)),
    (plant_ids_of_another_server, JoinedRows, "refuse_strangers", lambda *_: 0, ("holds", 400)),
    (plant_a_label_with_a_blank_and_case, check, "find_new_classes", find_none, ("holds", 400)),
    unguard(plant_a_contradiction, "FOUND", "contradicts", 400),
    unguard(plant_eight_rows_without_a_number, "FOUND", "unnumbered", 401),
    unguard(plant_an_id_with_other_inputs, "IDS", "bool_or(contents > 1)", 400),
]


@pytest.mark.parametrize(("plant", "place", "name", "instead", "said"), GUARDS)
def test_without_its_guard_a_fault_would_pass(
    plant: Callable[[World], str],
    place: Any,
    name: str,
    instead: Any,
    said: tuple[str, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(tmp_path)
    world.live()
    plant(world)
    monkeypatch.setattr(place, name, instead)
    report = world.look()
    assert (report["verdict"], report["champion"]["labelled"]) == said
