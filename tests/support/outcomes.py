"""A log of requests and a file of outcomes, by hand, and a look at both."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from tests.support.racing import copy_databases
from tests.support.serving.lines import Lines
from tests.support.small_texts import small_params

from plumbline.contract.params import Outcomes, Params, Retrain
from plumbline.registry import promotion
from plumbline.registry.journal import Entry
from plumbline.registry.reader import find_version
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.tasks.text_classification.scoring import score_answer
from plumbline.tasks.text_classification.task import TASK
from plumbline_outcomes import check, page, trial

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)
CHALLENGER = "3"
OWN, OTHER = "ab" * 32, "cd" * 32
CHAMPION = CachedVersion("line", "1", OWN, TASK.name, Path("bundle"), Path("golden.json"))
CLAIM = (0.95, 0.93)


def make_params(**outcomes: Any) -> Params:
    """Params of a text task, where drift may request any number of trainings."""
    params = small_params()
    drift = params.drift.model_copy(update={"min_rows": 50, "retrain": Retrain(per_day=99)})
    return params.model_copy(update={"outcomes": Outcomes(**outcomes), "drift": drift})


@dataclass
class World:
    """What a server answered, and what came back."""

    folder: Path
    params: Params = field(default_factory=make_params)
    rows: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    claim: tuple[float, float] | None = CLAIM
    num_files: int = 0
    doubt: float = 0.0
    bundle: str = OWN  # of the champion
    plan: Any = None  # of the last trial
    history: tuple[Any, ...] = ()  # of the journal
    classes: frozenset[str] = frozenset("abc")

    @property
    def subject(self) -> check.Subject:
        """The champion."""
        champion = replace(CHAMPION, bundle=self.bundle)
        known = (champion, TASK.signature, {}, score_answer, self.classes, self.claim)
        return check.Subject(*known, self.doubt, self.plan, self.history)

    @property
    def log(self) -> Path:
        """The folder of the log."""
        return self.folder / "log"

    def answer(self, name: str, label: str = "a", *, at: datetime = NOON, **changes: Any) -> None:
        """Log one answer."""
        text = changes.pop("text", f"{name} of {self.folder.name}")
        made: dict[str, Any] = {
            "at": at, "request_id": name, "row": 0, "model": "line", "version": "1",
            "bundle": self.bundle, "side": "champion", "shown": True, "ms": 1.0, "draw": 0.5,
            "assigned": None, "share": None, "key": None, "input.text": text,
            "output.label": label, "output.score": 0.9, "output.scores": "[]",
        }  # fmt: skip
        self.rows.append(made | changes)

    def tell(self, name: str, label: str | None = "a", **columns: Any) -> None:
        """Let a label come back."""
        self.outcomes.append({"request_id": name, "label": label} | columns)

    def live(self, size: int = 400, wrong: int = 20, at: datetime = NOON, start: int = 0) -> None:
        """Log so many answers and their labels, of which some are wrong."""
        for number in range(start, start + size):
            self.answer(f"r{number}", at=at)
            self.tell(f"r{number}", "b" if number % size < wrong else "a")

    def write_log(self, sequence: int | None = None, lost: dict | None = None) -> Path:
        """Write the rows that are not written yet into a file of the log."""
        self.log.mkdir(parents=True, exist_ok=True)
        number = self.num_files if sequence is None else sequence
        about = {"writer": "f00d", "sequence": number, "lost": lost or {}}
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        columns = {name: [row.get(name) for row in self.rows] for name in names}
        table = pa.table(columns).replace_schema_metadata({"plumbline": json.dumps(about)})
        last = max(row["at"] for row in self.rows)
        path = self.log / f"requests-{last:%Y%m%dT%H%M%S}-{self.num_files:04}.parquet"
        pq.write_table(table, path)
        self.rows, self.num_files = [], self.num_files + 1
        return path

    def look(self, **options: Any) -> dict[str, Any]:
        """Look at what was written, with the lines that a person gets in `lines`."""
        if self.rows:
            self.write_log()
        path = options.pop("path", self.folder / "outcomes.csv")
        if self.outcomes:
            pd.DataFrame(self.outcomes).to_csv(path, index=False)
        now = options.pop("now", NOW)
        if options.get("record"):
            self.history = tuple(promotion.read_history("line"))
        asked = (self.subject, str(self.log), str(path), self.params, now)
        report = check.check_outcomes(*asked, **options)
        return report | {"lines": "\n".join(page.describe_report(report))}


@contextmanager
def use_lines(template: Path, folder: Path) -> Iterator[Params]:
    """In a registry of lines, with version 1 as champion and no trial."""
    lines = Lines(folder)
    copy_databases(template / "mlruns", lines.path / "mlruns")
    with lines.here():
        yield make_params()


def find_bundle(version: str) -> str:
    """The bundle of a version there."""
    return find_version(f"models:/line/{version}").tags["plumbline.bundle"]


def begin_trial(params: Params, **options: Any) -> trial.Plan:
    """Plan a trial against version 1."""
    asked: dict[str, Any] = {"worth": 0.02, "days": 28, "reason": ""} | options
    return trial.begin_trial("line", asked.pop("version", CHALLENGER), 0.1, params, **asked)


def read_entries(*actions: str) -> list[Entry]:
    """The entries of these actions."""
    return [entry for entry in promotion.read_history("line") if entry.action in actions]


def record_outcomes(world: World) -> list[str]:
    """Close the days of a world, in a process of its own; return them."""
    path = world.folder / f"{os.getpid()}.csv"
    return list(world.look(record=True, path=path)["closed"])
