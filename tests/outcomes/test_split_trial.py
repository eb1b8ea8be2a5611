"""A trial by reactions: each key has the answers of one version, and counts once."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.outcomes import World, begin_trial, find_bundle, read_entries, use_lines

from plumbline.registry import journal_rules, promotion
from plumbline_outcomes import trial, trial_look
from plumbline_outcomes.trial import Plan

DAY = timedelta(days=1)
SIDES = {"canary": "3", "champion": "1"}


@dataclass
class Split:
    """Users who come on some days after the plan; each saw the version of a side."""

    world: World
    plan: Plan

    def come(self, user: str, side: str, value: float | None, **changes: Any) -> None:
        """Log a request, and the reaction to its answer if there is one."""
        name = f"r{len(self.world.rows)}"
        known: dict[str, Any] = {
            "at": self.plan.begin + DAY / 2, "key": user, "assigned": side, "side": side,
            "share": 0.5, "version": SIDES[side], "bundle": find_bundle(SIDES[side]),
        }  # fmt: skip
        self.world.answer(name, **(known | changes))
        if value is not None:
            self.world.outcomes.append({"request_id": name, "value": value})

    def fill(self, num_users: int, ours: float, theirs: float) -> None:
        """Let users come of whom such shares react, one half on each side."""
        for number in range(num_users):
            side, rate = (("canary", ours), ("champion", theirs))[number % 2]
            self.come(f"u{number}", side, float(number // 2 % 10 < 10 * rate))

    def go_on(self, days: int) -> None:
        """Let the champion answer one request on each of the days after the first."""
        for day in range(1, days):
            at = self.plan.begin + DAY / 2 + day * DAY
            self.come("", "champion", 0.5, at=at, assigned=None, share=None, key=None)

    def look(self, days: int = 40, **options: Any) -> dict[str, Any]:
        self.world.history = tuple(promotion.read_history("line"))
        self.world.plan = trial.find_trial(self.world.history)
        return dict(self.world.look(now=self.plan.begin + days * DAY, **options)["trial"])


@pytest.fixture
def split(template: Path, tmp_path: Path) -> Iterator[Split]:
    with use_lines(template, tmp_path) as params:
        plan = begin_trial(params, kind="split", share=0.2)
        yield Split(World(tmp_path, params, bundle=plan.champion), plan)


def test_who_gets_better_reactions_wins_by_counts_in_the_journal(split: Split) -> None:
    split.fill(1200, 0.8, 0.5)
    split.go_on(9)
    assert split.look(record=True, days=12)["labelled"] == 0  # no key's time has ended
    found = split.look(record=True, days=17)
    assert found["end"].startswith("better (journal entry")
    assert found["gain"] == pytest.approx(0.3, abs=0.01)
    assert (found["labelled"], found["differs"], found["keyless"]) == (1200, 1200, 0)
    assert found["low"] < 0.3 < found["high"]
    facts = [journal_rules.read_facts(entry).get("pairs") for entry in read_entries("outcomes")]
    days = [day for day in facts if day]
    assert sum(day["differs"] for day in days) == 1200  # each key in one day
    again = trial_look.weigh(split.plan, days)
    assert again == {name: found[name] for name in again}
    move = promotion.promote("line", "3", "1", "", needs_trial="split")
    assert move.reason.startswith(f"trial {split.plan.number}, version 3: better; gain +0.3")


def test_who_gets_worse_reactions_is_returned(split: Split) -> None:
    split.fill(800, 0.3, 0.7)
    split.go_on(9)
    assert "worse" in split.look(record=True, days=17)["told"]
    assert read_entries("return")


def test_a_key_counts_once_by_its_first_side_and_time(split: Split) -> None:
    late = {"at": split.plan.begin + 9 * DAY}
    split.come("bot", "canary", 1.0)
    for number in range(1000):
        split.come("bot", "canary", float(number % 2), share=0.5)
    split.come("bot", "champion", 0.0, **late)  # after unit_days: does not count
    split.come("failed", "champion", 0.0, assigned="canary")  # the champion answered for it
    split.come("silent", "canary", None)
    split.come("early", "canary", 1.0, at=split.plan.begin - DAY)
    split.come("small", "canary", 1.0, share=0.1)  # less than was planned
    found = split.look()
    assert (found["differs"], found["labelled"], found["rows"]) == (3, 2, 1003)
    assert found["gain"] == -0.5  # of half of the bot's reactions, and of the one that failed


def test_without_keys_or_reactions_of_one_side_there_is_no_verdict(split: Split) -> None:
    split.fill(1200, 0.9, 0.4)
    for row in split.world.rows[:90]:
        row["key"] = None
    found = split.look()
    assert found["verdict"] == "cannot tell"
    assert found["why"] == "over 5% of the rows have no key (--key-header)"
    del split.world.outcomes[:500:2]
    found = split.look()
    assert found["why"] == "the canary got another share of the keys than was set"


def test_the_share_may_move(split: Split) -> None:
    random = np.random.default_rng(0)
    for number in range(3000):
        share = 0.2 if number < 1500 else 0.5
        side = "canary" if random.random() < share else "champion"
        at = split.plan.begin + DAY / 2 + number * DAY / 3000
        split.come(f"u{number}", side, float(random.random() < 0.5), share=share, at=at)
    found = split.look()
    assert found["verdict"] == "open"
    assert abs(found["gain"]) < 0.05


def test_labels_and_reactions_close_the_same_days_apart(split: Split) -> None:
    split.fill(100, 0.5, 0.5)
    split.go_on(2)
    split.look(record=True, days=10)
    split.world.outcomes = [{"request_id": f"r{number}", "label": "a"} for number in range(100)]
    report = split.world.look(now=split.plan.begin + 10 * DAY, record=True)
    assert report["trial"] is None  # labels decide no trial by reactions
    facts = [json.dumps(journal_rules.read_facts(entry)) for entry in read_entries("outcomes")]
    assert sum('"kind": "value"' in each for each in facts) == len(facts) / 2
    assert trial.find_rate(read_entries("outcomes"), split.plan.champion) == 0.5


def test_equal_versions_win_no_more_often_than_the_level(split: Split) -> None:
    """200 trials of 28 days with 100 new keys a day, looked at each day."""
    random, plan, wins = np.random.default_rng(0), split.plan, 0
    equal = dict(zip(plan.questions[0][1], (0.1, 0.1, 0.4, 0.4), strict=True))
    for _ in range(200):
        days: list[dict[str, Any]] = []
        for numbers in random.multinomial(100, list(equal.values()), size=28):
            low = dict(zip(map(str, equal), numbers.tolist(), strict=True))
            days.append({"rows": 100, "differs": 100, "labelled": 100, "low": low})
        wins += trial_look.weigh(plan, days)["better_e"] >= 1 / trial.LEVEL
    assert wins <= 200 * 0.035
