"""A trial of two versions by pairs: its plan, its counts, its verdict, and what that allows."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.support.outcomes import (
    CHALLENGER,
    CHAMPION,
    NOW,
    World,
    find_bundle,
    make_params,
    read_entries,
    use_lines,
)
from tests.support.outcomes import begin_trial as begin

from plumbline.contract.errors import (
    DataError,
    JournalError,
    ParamsError,
    RefusedError,
    RegistryError,
)
from plumbline.contract.params import Champion, Params
from plumbline.contract.task import Field, Signature
from plumbline.registry import journal_rules, model_versions, promotion
from plumbline.serving import metrics
from plumbline.serving.exchange import Exchange
from plumbline.serving.inference_request import InferenceRequest
from plumbline.serving.loaded_model import Answer
from plumbline.sources.request_folder import RequestFolder
from plumbline_outcomes import check, closing, drawing, trial, trial_look
from plumbline_outcomes.trial import Plan

DAY = timedelta(days=1)


@dataclass
class Trial:
    """A trial of version 3 against version 1, on a log and labels that are made by hand."""

    world: World
    plan: Plan

    @property
    def begin(self) -> datetime:
        return self.plan.begin

    def answer(
        self, name: str, ours: str | None, theirs: str | None, label: str | None, **changes: Any
    ) -> None:
        """Log both answers to a row, where None is a failure, and the label if there is one."""
        known = {"at": self.begin + DAY, "draw": 0.5} | changes
        gave_none = {"output.label": None, "output.score": None, "output.scores": None}
        for answer, version, bundle, side in (
            (theirs, "1", self.plan.champion, "champion"),
            (ours, CHALLENGER, self.plan.bundle, "shadow"),
        ):
            own = known | {"version": version, "bundle": bundle, "side": known.get(side, side)}
            own |= {"shown": side == "champion"}
            self.world.answer(name, answer or "", **own | (gave_none if answer is None else {}))
        if label:
            self.world.tell(name, label)

    def fill(self, alike: int, won: int = 0, lost: int = 0, at: datetime | None = None) -> None:
        """Log so many requests; labels come for those that differ alone."""
        when = at or self.begin + DAY
        start = len(self.world.outcomes) + len(self.world.rows)
        for number in range(alike):
            self.answer(f"same{start}-{number}", "a", "a", None, at=when)
        for number in range(won):
            self.answer(f"won{start}-{number}", "b", "a", "b", at=when)
        for number in range(lost):
            self.answer(f"lost{start}-{number}", "b", "a", "a", at=when)

    def look(self, days: int = 20, **options: Any) -> dict[str, Any]:
        """What is found of the trial so many days after it began."""
        self.world.history = tuple(promotion.read_history("line"))
        self.world.plan = trial.find_trial(self.world.history)
        report = self.world.look(now=self.begin + days * DAY, **options)
        assert report["trial"]["told"] in report["lines"]
        won = check.name_winner(report)
        return dict(report["trial"]) | {"lines": report["lines"], "won": won}


@pytest.fixture
def params(template: Path, tmp_path: Path) -> Iterator[Params]:
    """In a registry with version 1 as champion and no trial."""
    with use_lines(template, tmp_path) as params:
        yield params


@pytest.fixture
def paired(params: Params, tmp_path: Path) -> Trial:
    plan = begin(params)
    return Trial(World(tmp_path, params, bundle=plan.champion), plan)


def read_days(plan: Plan) -> list[dict[str, Any]]:
    facts = map(journal_rules.read_facts, read_entries("outcomes"))
    return [each["pairs"] for each in facts if each.get("pairs", {}).get("trial") == plan.number]


def test_who_is_better_wins_once_and_may_be_promoted(paired: Trial) -> None:
    paired.fill(1800, won=150, lost=50)
    look = paired.look()
    assert (look["verdict"], look["won"]) == ("better", {})
    assert not read_entries("outcomes")
    with pytest.raises(RegistryError, match=r"has won no trial .* registry\.trial"):
        promotion.promote("line", CHALLENGER, "1", "", needs_trial="paired")
    found = paired.look(record=True)
    assert found["end"] == f"better (journal entry {read_entries('outcomes')[-1].number})"
    assert (found["rows"], found["differs"], found["labelled"]) == (2000, 200, 200)
    assert found["low"] < found["gain"] == 0.05 < found["high"]
    named = {"won": "3", "bundle": paired.plan.bundle, "model": "line", "champion": "1"}
    assert found["won"] == named
    number = len(read_entries("outcomes"))
    assert paired.look(record=True)["won"] == {}
    assert paired.look(record=True)["verdict"].startswith("better (journal entry")
    assert len(read_entries("outcomes")) == number
    asked = "asked; trial run is over"  # also a reason that reads like the trial that is added
    with pytest.raises(RegistryError, match="has won no trial"):
        promotion.promote("line", CHALLENGER, "1", "", needs_trial="split")
    move = promotion.promote("line", CHALLENGER, "1", asked, needs_trial="paired", once=True)
    assert move.reason.startswith(
        f"{asked}; trial {paired.plan.number}, version 3: better; gain +0.050 ("
    )
    assert "{" not in move.reason
    again = promotion.promote("line", CHALLENGER, "1", asked, needs_trial="paired", once=True)
    assert again == move


def test_a_canary_that_was_taken_out_may_win_by_the_rows_that_it_had(paired: Trial) -> None:
    """It differed too often, as the champion is wrong there: nobody returned it."""
    paired.fill(90, won=60)
    for number in range(1000):
        paired.world.answer(f"later{number}", at=paired.begin + 2 * DAY)
    assert paired.look(record=True)["end"].startswith("better (journal entry")
    promotion.promote("line", CHALLENGER, "1", "", needs_trial="paired")


def test_a_verdict_that_was_forged_in_the_database_promotes_nobody(paired: Trial) -> None:
    paired.fill(100, won=5, lost=5)
    assert paired.look(days=40, record=True)["end"].startswith("open (journal entry")
    number = read_entries("outcomes")[-1].number
    with sqlite3.connect("mlruns/journal.db") as journal:
        better = """replace(reason, '"verdict": "open"', '"verdict": "better"')"""
        journal.execute(f"UPDATE plumbline_journal SET reason = {better}")  # noqa: S608
    with pytest.raises(JournalError, match=f"check failed at entry {number} .hash mismatch"):
        promotion.promote("line", CHALLENGER, "1", "", needs_trial="paired")


def test_the_journal_alone_gives_the_e_value_again(paired: Trial) -> None:
    paired.fill(300, won=15, lost=10)
    paired.fill(300, won=15, lost=10, at=paired.begin + 2 * DAY)
    found = paired.look(record=True)
    for path in paired.world.log.iterdir():
        path.unlink()
    plan = trial.find_trial(promotion.read_history("line"))
    assert (plan, found["verdict"]) == (paired.plan, "open")
    again = trial_look.weigh(plan, read_days(plan))
    assert again == {name: found[name] for name in again}
    assert again["requests"] == 650


def test_who_is_worse_is_returned(paired: Trial) -> None:
    paired.fill(800, won=20, lost=80)
    assert "worse; gain -0.067" in paired.look(record=True)["told"]
    (entry,) = read_entries("return")
    assert (entry.version, entry.bundle) == (CHALLENGER, paired.plan.bundle)
    assert "{" not in entry.reason
    with pytest.raises(RefusedError, match=f"was returned .*trial {paired.plan.number}"):
        promotion.promote("line", CHALLENGER, "1", "")
    with pytest.raises(RefusedError, match="was returned"):
        begin(paired.world.params)
    promotion.promote("line", CHALLENGER, "1", "it is wanted", override=True)


def test_equal_answers_are_never_better(paired: Trial) -> None:
    paired.fill(3000)
    paired.world.tell("same0-0", "b")
    found = paired.look(record=True)
    assert (found["verdict"], found["gain"], found["labelled"]) == ("open", 0.0, 0)


TEXTS = {"type": "array", "items": {"type": "string"}}
NUMBERS = {"type": "array", "items": {"type": "double"}}
RANKED = Signature((Field("text", "string"),), (Field("id", "string"), Field("ids", TEXTS)))
RATED = Signature((Field("text", "string"),), (Field("y", "double"), Field("score", "double")))
SPREAD = Signature((Field("text", "string"),), (Field("probabilities", NUMBERS),))


@pytest.mark.parametrize(
    ("signature", "ours", "theirs", "differs"),
    [
        (RANKED, {"id": "p1", "ids": ["p1", "p2"]}, {"id": "p1", "ids": ["p1", "p3"]}, 1),
        (RANKED, {"id": "p1", "ids": ["p1", "p2"]}, {"id": "p1", "ids": ["p1", "p2"]}, 0),
        (RATED, {"y": 0.1 + 0.2, "score": 0.9}, {"y": 0.3, "score": 0.8}, 0),
        (RATED, {"y": 0.301, "score": 0.9}, {"y": 0.3, "score": 0.9}, 1),
        (SPREAD, {"probabilities": [0.3, 0.7]}, {"probabilities": [0.1 + 0.2, 0.7]}, 0),
        (SPREAD, {"probabilities": [0.4, 0.6]}, {"probabilities": [0.3, 0.7]}, 1),
    ],
)
def test_all_count_the_same_rows_as_different(
    params: Params,
    tmp_path: Path,
    signature: Signature,
    ours: dict[str, Any],
    theirs: dict[str, Any],
    differs: int,
) -> None:
    """The server's metric, the share for a plan, the sheet, and the trial."""
    bundles = (find_bundle(CHALLENGER), find_bundle("1"))
    world, plan = World(tmp_path, params, bundle=bundles[1]), begin(params)
    answers = []
    for bundle, side, outputs in zip(bundles, ("shadow", "champion"), (ours, theirs), strict=True):
        world.answer("r", side=side, bundle=bundle, at=plan.begin + DAY, shown=side == "champion")
        kept = {key: val for key, val in world.rows[-1].items() if not key.startswith("output.")}
        world.rows[-1] = kept | {f"output.{key}": encode(val) for key, val in outputs.items()}
        columns = {key: [value] for key, value in outputs.items()}
        answers.append(Answer(columns, CHAMPION, f"{side} {tmp_path.name}", 0.0))
    Exchange(InferenceRequest({"text": ["t"]}, {}), "r").compare(*reversed(answers))
    counted = metrics.COMPARED.labels(answers[0].variant, "differs")
    assert counted._value.get() == differs
    world.write_log()
    world.tell("r", "p3")
    labels, now = tmp_path / "labels.csv", plan.begin + 3 * DAY
    pd.DataFrame(world.outcomes).to_csv(labels, index=False)
    subject = replace(
        world.subject,
        signature=signature,
        score_answer=lambda *_: 1.0,
        plan=plan,
        history=read_entries("trial"),
    )
    report = check.check_outcomes(subject, str(world.log), str(labels), params, now)
    assert report["trial"]["differs"] == differs
    wanted = drawing.Drawing(7, differs=True)
    assert len(drawing.draw_rows(subject, str(world.log), params, now, wanted)[0]) == differs
    folder = RequestFolder(str(world.log))
    found = trial.measure_difference(subject, CHALLENGER, folder, now)
    assert found[:2] == (differs, 1)


def encode(value: Any) -> Any:
    """As the log has it."""
    return json.dumps(value) if isinstance(value, list) else value


def test_a_missing_label_counts_against_what_is_to_be_proved(paired: Trial) -> None:
    paired.fill(1800, won=150, lost=50)
    whole = paired.look()
    del paired.world.outcomes[:20]
    found = paired.look()
    assert (found["low"] < whole["low"], found["high"] >= whole["high"]) == (True, True)
    del paired.world.outcomes[:10]
    found = paired.look()
    assert found["verdict"] == "cannot tell"
    assert found["why"] == "90% of the rows that differ need a label"
    assert (found["labelled"], found["differs"]) == (170, 200)


def test_rows_of_a_request_that_are_alike_count_once(paired: Trial) -> None:
    for number in range(100):
        for row in range(16):
            paired.answer(f"r{number}", "b", "a", None, row=row, text=f"t{number}")
            paired.world.tell(f"r{number}", "b", row=row)
    found = paired.look()
    assert (found["rows"], found["requests"], found["gain"]) == (1600, 100, 1.0)


def test_requests_before_the_plan_and_after_its_days_do_not_count(paired: Trial) -> None:
    paired.fill(100, won=5)
    paired.fill(0, won=50, at=paired.begin - DAY)
    paired.fill(0, won=50, at=paired.begin + 29 * DAY)
    assert paired.look(days=60)["requests"] == 105


def test_what_a_server_whose_clock_is_ahead_answered_before_the_plan_is_before_it(
    params: Params, tmp_path: Path
) -> None:
    world, now = World(tmp_path, params, bundle=find_bundle("1")), datetime.now(UTC)
    world.answer("before", at=now + DAY / 24)
    world.write_log()
    told = (world.subject, CHALLENGER, RequestFolder(str(world.log)))
    _, _, ahead = trial.measure_difference(*told, now)
    assert begin(params, ahead=ahead).begin > now + DAY / 24
    assert trial.measure_difference(*told, now + DAY)[2] == 0.0
    with pytest.raises(DataError, match="a row is from 13 hours after now; set the clock"):
        trial.measure_difference(*told, now - DAY / 2)


def test_a_group_that_loses_keeps_a_better_one_from_winning(paired: Trial) -> None:
    for number in range(2000):
        is_email, ours = number % 10 == 0, "b" if number % 5 == 0 else "a"
        label = "b" if not is_email else "a"
        paired.answer(f"r{number}", ours, "a", None)
        paired.world.tell(f"r{number}", label, channel="email" if is_email else "chat")
    for number in range(2000, 3000):
        paired.answer(f"r{number}", "b", "a", None)
        paired.world.tell(f"r{number}", "b", channel="chat")
    paired.answer("open", "a", "a", None)
    paired.world.params = make_params(min_coverage=1.0)  # what is edited later changes no plan
    found = paired.look()
    assert found["gain"] > 0.3
    assert found["verdict"] == "open"
    assert found["why"] == "channel=email loses more than evaluation.max_slice_loss"


@pytest.mark.parametrize("lost", ["canary", "champion"])
def test_a_side_whose_rows_are_missing_ends_in_no_verdict(paired: Trial, lost: str) -> None:
    for number in range(1000):
        side = "canary" if number % 2 else "champion"
        known = {"share": 0.5, "assigned": side, "key": f"k{number}"}
        if side != lost or number % 10 < 5:
            paired.answer(f"r{number}", "b", "a", "b", **known)
    found = paired.look()
    assert found["verdict"] == "cannot tell"
    assert found["why"] == "the canary got another share of the keys than was set"


def test_a_user_with_many_requests_is_one_key(paired: Trial) -> None:
    for number in range(1000):
        known = {"share": 0.5, "assigned": "canary" if number % 2 else "champion"}
        paired.answer(f"r{number}", "b", "a", "b", key=f"k{number}", **known)
    for number in range(1000, 2000):
        paired.answer(f"r{number}", "b", "a", "b", share=0.5, assigned="canary", key="k1")
    assert paired.look()["verdict"] == "better"


def test_a_plan_does_not_change_while_it_is_open(paired: Trial) -> None:
    params = paired.world.params
    assert begin(params) == paired.plan
    for change in ({"worth": 0.05}, {"days": 14}, {"version": "2"}):
        with pytest.raises(RegistryError, match=r"is open until .*; a plan does not change"):
            begin(params, **change)
    assert len(read_entries("trial")) == 1
    with pytest.raises(RegistryError, match="no champion with another bundle than version 1"):
        begin(params, version="1")


def test_a_trial_is_void_without_its_version_and_once_the_champion_changed(paired: Trial) -> None:
    paired.fill(1800, won=150, lost=50)
    promotion.promote("line", "2", "1", "wanted", override=True)
    assert paired.look(record=True)["verdict"].startswith("void, the champion changed (journal")
    assert not [each for each in read_days(paired.plan) if each]
    assert begin(paired.world.params).level == paired.plan.level  # against another champion
    model_versions.connect_registry().delete_model_version("line", CHALLENGER)
    plan = trial.find_trial(promotion.read_history("line"))
    assert plan
    assert plan.ended == "void, the version is not in the registry"


def test_a_trial_is_counted_by_one_log(paired: Trial, tmp_path: Path) -> None:
    """Else each of several logs, or a copy with other labels, would be one more chance to win."""
    paired.fill(300, won=15, lost=10)
    first = paired.look(record=True)
    other = Trial(replace(paired.world, folder=tmp_path / "other", outcomes=[]), paired.plan)
    other.fill(1800, won=150, lost=50)
    found = other.look(record=True)
    assert found["verdict"].startswith("cannot tell, days of another log count (journal entry")
    assert trial.find_trial(promotion.read_history("line")) == paired.plan
    assert paired.look(record=True)["requests"] == first["requests"]
    folder = RequestFolder(str(other.world.log))
    days = closing.ClosedDays(other.world.subject.champion, folder, closing.LABEL, ())
    with pytest.raises(DataError, match=r"days of another log count .* run it again"):
        days.close(pd.DataFrame({"day": ["2026-01-01"]}), NOW.date(), [], paired.plan)


def test_a_trial_without_a_verdict_ends_with_its_days(paired: Trial) -> None:
    paired.fill(100, won=5, lost=5)
    assert paired.look(days=30, record=True)["verdict"] == "open"
    assert trial.find_trial(promotion.read_history("line")) == paired.plan
    assert paired.look(days=40, record=True)["end"].startswith("open (journal entry")
    assert begin(paired.world.params).level < paired.plan.level


def test_all_trials_against_a_champion_share_one_level(params: Params) -> None:
    outcomes = params.outcomes.model_copy(update={"planned_trials": 2})
    few = params.model_copy(update={"outcomes": outcomes})
    levels = []
    for _ in range(2):
        plan = begin(few)
        levels.append(plan.level)
        found = {"verdict": "open", "is_over": True, "told": "trial", "requests": 0}
        trial.end_trial("line", plan, found | {"differs": 0, "labelled": 0})
    assert sum(levels) == pytest.approx(trial.LEVEL)
    with pytest.raises(ParamsError, match="2 trials against this champion have used all"):
        begin(few)


def test_not_worse_is_enough_where_the_policy_says_so(params: Params, tmp_path: Path) -> None:
    champion = Champion(policy="not-worse", margin=0.02)
    evaluation = params.evaluation.model_copy(update={"champion": champion})
    changed = params.model_copy(update={"evaluation": evaluation})
    plan = begin(changed)
    paired = Trial(World(tmp_path, changed, bundle=plan.champion), plan)
    paired.fill(2900, won=50, lost=50)
    assert paired.look()["verdict"] == "not worse"
