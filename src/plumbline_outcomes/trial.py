"""The plan of a trial, which is in the journal before its first row, and how the trial ended."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from statistics import fmean
from typing import TYPE_CHECKING, Any

from plumbline.contract.answers import is_other_decision
from plumbline.contract.errors import AbsentVersionError, DataError, ParamsError, RegistryError
from plumbline.contract.params import Params
from plumbline.registry.alerts import send_alert
from plumbline.registry.desk import open_desk
from plumbline.registry.journal import Action, Decision, Entry
from plumbline.registry.journal_rules import WON, read_facts, refuse_unfit
from plumbline.registry.reader import find_version
from plumbline.registry.reader.addresses import BUNDLE_TAG
from plumbline.sources.request_folder import RequestFolder
from plumbline.statistics import betting
from plumbline.statistics.power import spend_level
from plumbline_outcomes.request_rows import read_outputs, read_requests

if TYPE_CHECKING:
    import pandas as pd

    from plumbline_outcomes.check import Subject

LEVEL = 0.025  # chance that one version without a gain wins, of all planned against one champion
UNKNOWN = 0.1  # the share of rows that differ, where the log has no pair yet
WAITS_S = 60  # a row, for its file in the log
MAX_AHEAD_S = 2 * 3600  # a plan that begins later than this would only keep others waiting
PAIRS = """
SELECT a.outputs AS own, b.outputs AS other
FROM rows AS a JOIN rows AS b USING (request_id, "row", "at") WHERE a.bundle = ? AND b.bundle = ?
"""
OWN = ("version", "bundle", "number", "begin", "ended")  # of a plan, which entries say themselves
Question = tuple[float, betting.Counts]  # a limit, and what comes where a gain is above it


@dataclass(frozen=True)
class Plan:
    """What was settled before the first row, as the journal has it, and how the trial ended."""

    version: str
    bundle: str
    champion: str  # its bundle
    policy: str  # of evaluation.champion
    margin: float
    worth: float  # the smallest gain that is worth finding
    days: int
    level: float
    differ: float  # the share of rows on which the two differed before
    coverage: float  # that labels must reach among the rows that differ
    sample: float  # of the rows, one half of which decides how groups fare
    slice_loss: float
    slice_rows: int
    reason: str
    kind: str = "paired"  # or split: by reactions, of which each key has those to one version
    ahead: float = 0.0  # seconds, of a server's clock
    share: float = 0.5  # the smallest of all keys that the canary of a split has
    rate: float = 0.5  # the mean reaction to the champion before
    unit_days: int = 0  # of a key, from its first request
    number: int = 0  # of the entry
    begin: datetime = datetime.max
    ended: str = ""  # how, and where the journal says so; "" while it is open

    @property
    def is_split(self) -> bool:
        """Whether each key has the answers of one version."""
        return self.kind == "split"

    @property
    def end(self) -> datetime:
        """After it no request counts."""
        return self.begin + timedelta(days=self.days)

    def select(self, rows: "pd.DataFrame") -> "pd.DataFrame":
        """Select the answers to requests in its days."""
        return rows[(rows["at"] > self.begin) & (rows["at"] <= self.end)]

    @property
    def questions(self) -> tuple[Question, Question]:
        """What a gain has to exceed, and a loss (of negated values), with what is planned there."""
        gain = self.margin if self.policy == "better" else -self.margin
        loss = -min(gain, 0.0)
        return (gain, self._expect(gain + self.worth)), (loss, self._expect(loss + self.worth))

    @property
    def span(self) -> betting.Span:
        """The smallest value and the largest."""
        end = max(self.rate, 1 - self.rate) / self.share if self.is_split else 1.0
        return -end, end

    def _expect(self, gain: float) -> betting.Counts:
        """How likely each value is at this gain: of a key that reacts or not, or of a row."""
        if self.is_split:
            rate, share = self.rate, self.share
            chance = min(rate + gain, 1.0)
            return {
                (1 - rate) / share: share * chance,
                -rate / share: share * (1 - chance),
                -(1 - rate) / (1 - share): (1 - share) * rate,
                rate / (1 - share): (1 - share) * (1 - rate),
            }
        differ = min(max(self.differ, abs(gain)), 1.0)
        return {-1.0: (differ - gain) / 2, 0.0: 1 - differ, 1.0: (differ + gain) / 2}


def measure_difference(
    subject: "Subject", version: str, folder: RequestFolder, now: datetime
) -> tuple[float, int, float]:
    """Measure on which share of the rows a version and the champion differ, and count these rows.

    No label is needed. Where there is no such row yet, the share is UNKNOWN. The third are the
    seconds that a server's clock is ahead: what it has answered by `now` is earlier than a plan.
    DataError where these are more than MAX_AHEAD_S.
    """
    own, fields = subject.champion, subject.signature.outputs
    bundle = find_version(f"models:/{own.name}/{version}").tags[BUNDLE_TAG]
    stored, _ = read_requests(folder, own.name, None, now)
    found = [
        is_other_decision(read_outputs(pair["own"], fields), read_outputs(pair["other"], fields))
        for batch in stored.read(PAIRS, bundle, own.bundle)
        for pair in batch.to_pylist()
    ]
    (last,) = stored.query('SELECT max(epoch("at")) AS last FROM rows')["last"]
    ahead = last - now.timestamp()
    if ahead > MAX_AHEAD_S:
        raise DataError(
            f"{folder.shown}: a row is from {ahead / 3600:,.0f} hours after now; set the clock of "
            "its server right, and move the file with that row out of the folder"
        )
    share = fmean(found) if found else UNKNOWN
    return share, len(found), ahead + WAITS_S if ahead > 0 else 0.0


def begin_trial(
    name: str,
    version: str,
    differ: float,
    params: Params,
    *,
    worth: float,
    days: int,
    reason: str,
    **others: Any,
) -> Plan:
    """Write the plan of a trial against the champion of `name` into the journal.

    `others` are `kind`, `share` and `ahead` of it.

    Repeated it is the same one. RegistryError where another is open, or the bundle is the
    champion's; RefusedError where it may not answer; ParamsError where no level is left.
    """
    bundle = find_version(f"models:/{name}/{version}").tags[BUNDLE_TAG]
    rules = params.evaluation
    with open_desk(name) as desk:
        champion = desk.champion.bundle if desk.champion else ""
        if champion in ("", bundle):
            raise RegistryError(
                f"{name}: there is no champion with another bundle than version {version}, to "
                "compare that with"
            )
        refuse_unfit(name, version, bundle, desk.entries)
        last = find_trial(desk.entries)
        if last and not last.ended:
            asked = (bundle, worth, days, others.get("kind", last.kind))
            if (last.bundle, last.worth, last.days, last.kind) == asked:
                return last
            raise RegistryError(
                f"{name}: trial {last.number} of version {last.version} (worth {last.worth}, "
                f"{last.days} days) is open until {last.end:%Y-%m-%d}; a plan does not change"
            )
        level = _find_level(desk.entries, champion, params.outcomes.planned_trials)
        plan = Plan(
            version, bundle, champion, rules.champion.policy, rules.champion.margin, worth, days,
            level, differ, params.outcomes.min_coverage, params.outcomes.sample,
            rules.max_slice_loss, rules.min_slice_rows, reason,
            rate=find_rate(desk.entries, champion), unit_days=params.outcomes.mature_days, **others,
        )  # fmt: skip
        text = json.dumps({name: value for name, value in asdict(plan).items() if name not in OWN})
        digest = hashlib.sha256(text.encode()).hexdigest()
        told = f"version {version} has to be {plan.policy} {text}"
        return read_plan(desk.note(Decision(name, "trial", version, "", bundle, digest, told)))


def _find_level(entries: Sequence[Entry], champion: str, num_planned: int) -> float:
    """The level of the next trial against a champion; ParamsError where none is left."""
    plans = [read_plan(entry) for entry in entries if entry.action == "trial"]
    spent = [plan.level for plan in plans if plan.champion == champion]
    level = min(spend_level(len(spent) + 1, num_planned, LEVEL), LEVEL - sum(spent))
    if level <= 0:
        raise ParamsError(
            f"{entries[0].model}: {len(spent)} trials against this champion have used all that "
            f"outcomes.planned_trials ({num_planned}) allows; wait for the next champion"
        )
    return level


def find_rate(entries: Sequence[Entry], bundle: str) -> float:
    """The mean reaction to a version on the days that were closed; 0.5 where nothing is known."""
    total = Counter[str]()
    for entry in entries:
        total.update(read_facts(entry).get("rates", {}).get(bundle[:12], {}))
    return round(total["right"] / total["labelled"], 3) if total["labelled"] else 0.5


def read_plan(entry: Entry) -> Plan:
    """Read the plan in an entry `trial`."""
    facts = read_facts(entry)
    begin = datetime.fromisoformat(entry.at) + timedelta(seconds=facts.get("ahead", 0.0))
    return Plan(entry.version, entry.bundle, **facts, number=entry.number, begin=begin)


def find_trial(entries: Sequence[Entry]) -> Plan | None:
    """Find the last trial in the entries of a model."""
    for entry in reversed(entries):
        if entry.action == "trial":
            plan = read_plan(entry)
            return replace(plan, ended=find_end(plan, entries))
    return None


def find_end(plan: Plan, entries: Sequence[Entry], log: str = "") -> str:
    """Say how a trial ended, by the entries of its model; "" while it is open.

    For a `log`, of which this is the digest, it is over too where days of another one count.
    """
    other = ""
    for entry in entries:
        if entry.number <= plan.number:
            continue
        there, facts = f"(journal entry {entry.number})", read_facts(entry)
        if entry.moves:
            return f"void, the champion changed {there}"
        if (entry.action, entry.bundle) == ("return", plan.bundle):
            return f"returned {there}"
        if facts.get("trial") == plan.number:
            return f"{facts['verdict']} {there}"
        counts = facts.get("pairs", {})
        is_counted = counts.get("trial") == plan.number and counts["rows"]
        if log and is_counted and facts["log"] != log:
            other = f"cannot tell, days of another log count {there}"
    try:
        version = find_version(f"models:/{entries[0].model}/{plan.version}")
    except AbsentVersionError:
        return "void, the version is not in the registry"
    is_same = version.tags.get(BUNDLE_TAG) == plan.bundle
    return other if is_same else "void, the version has another bundle"


def end_trial(name: str, plan: Plan, found: Mapping[str, Any], *, is_whole: bool = True) -> str:
    """Write how a trial ended, once; returns that, "" while it is open.

    `is_whole`: no day stays open, which would count.
    A version that is worse is returned as a bad canary is: no server and no `promote` takes it.
    """
    is_worse = found["verdict"] == "worse"
    if not (is_worse or found["verdict"] in WON or (found["is_over"] and is_whole)):
        return ""
    with open_desk(name) as desk:
        known = find_end(plan, desk.entries)
        if known:
            return known
        facts = {"trial": plan.number, "verdict": found["verdict"], "kind": plan.kind}
        facts |= {key: found[key] for key in ("requests", "differs", "labelled")}
        text = json.dumps(facts)
        digest = hashlib.sha256(text.encode()).hexdigest()
        told = found["told"] if is_worse else f"{found['told']} {text}"
        action: Action = "return" if is_worse else "outcomes"
        entry = desk.note(Decision(name, action, plan.version, "", plan.bundle, digest, told))
        end = find_end(plan, desk.entries)
    if is_worse:
        send_alert(entry, "returned")
    return end
