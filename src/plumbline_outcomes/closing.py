"""Close days: what is known of a day once it is old enough decides, and later labels do not.

closed-MODEL-DAY.parquet lies beside the log, with digests in place of texts and ids; the journal
has its digest. Whoever comes second finds the file, or the entry, and adds nothing.
"""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.registry.desk import open_desk
from plumbline.registry.journal import Decision, Entry
from plumbline.registry.journal_rules import read_facts
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.sources.request_folder import SUFFIX, RequestFolder
from plumbline_outcomes import pairs
from plumbline_outcomes.request_rows import LogFacts
from plumbline_outcomes.trial import Plan

if TYPE_CHECKING:
    import pandas as pd

CLOSED = "closed-"  # begins the names of these files
LABEL = "label"  # the kind of outcomes that are truths


def list_closed(history: Sequence[Entry], log: str, kind: str = LABEL) -> dict[str, Entry]:
    """Map each day that was closed of the log with this digest to its entry, in their order.

    `kind`: by labels, or by reactions; a day may be closed by both.
    """
    closed = {}
    for entry in history:
        facts = read_facts(entry)
        if "day" in facts and (facts["log"], facts.get("kind", LABEL)) == (log, kind):
            closed[facts["day"]] = entry
    return closed


def find_other_log(history: Sequence[Entry], log: str, plan: Plan) -> str:
    """Say which entry binds a trial to another log than that with this digest; "" for none."""
    for entry in history:
        facts = read_facts(entry)
        day = facts.get("pairs", {})
        if day.get("trial") == plan.number and day["rows"]:
            there = f"cannot tell, days of another log count (journal entry {entry.number})"
            return "" if facts["log"] == log else there
    return ""


def find_start(day: str) -> datetime:
    """When a day of UTC, such as 2026-11-20, began."""
    return datetime.fromisoformat(f"{day}T00:00+00:00")


def read_closed(
    folder: RequestFolder, closed: Mapping[str, Entry]
) -> tuple[list["pd.DataFrame"], str]:
    """Read the rows of each closed day, and say which file is not what the journal says."""
    import pandas as pd

    days, damage = [], ""
    for day, entry in closed.items():
        name = name_file(entry.model, day, read_facts(entry).get("kind", LABEL))
        content = _read_file(folder, name)
        if content is None or hashlib.sha256(content).hexdigest() != entry.evidence:
            found = "is missing" if content is None else "was changed since"
            damage = (
                f"{folder.shown}/{name}: {found}; journal entry {entry.number} closed "
                "that day with it. Restore it from a backup"
            )
        else:
            days.append(pd.read_parquet(io.BytesIO(content)))
    return days, damage


def list_due(
    rows: "pd.DataFrame", facts: LogFacts, mature_days: int, now: datetime, accepted: str
) -> tuple[list[str], str]:
    """List the days that can be closed, in order, and say what keeps the next one open.

    A day with missing files stays open, and those after it: the alarm takes days in their order.
    """
    last = now.date() - timedelta(days=mature_days + 1)
    due = [day for day in sorted(set(rows["day"])) if date.fromisoformat(day) <= last]
    if accepted:
        return due, ""
    for number, day in enumerate(due):
        for count, first, until in facts.list_gaps():
            if first <= date.fromisoformat(day) <= until:
                return due[:number], (
                    f"{day} stays open: {count:,} files of the log between {first} and {until} are "
                    'missing; bring them back, or --accept-gap "WHY"'
                )
    return due, ""


def close_days(
    folder: RequestFolder,
    champion: CachedVersion,
    rows: "pd.DataFrame",
    days: Sequence[str],
    accepted: str,
    plan: Plan | None = None,
    kind: str = LABEL,
    earlier: Sequence["pd.DataFrame"] = (),
) -> dict[str, Entry]:
    """Keep the rows of each of `days` beside the log, and return the journal's entries on them.

    Counts for the trial `plan` are in them; `earlier` are the rows of days that were closed before.
    What somebody closed meanwhile stays, and a file that a killed run left is the one.
    """
    import pandas as pd

    if not days:
        return {}
    with open_desk(champion.name) as desk:
        other = find_other_log(desk.entries, folder.digest, plan) if plan else ""
        if other:
            raise DataError(f"{folder.shown}: {other} since a moment; run it again")
        known = list_closed(desk.entries, folder.digest, kind)
        closed = list(earlier)
        for day in days:
            kept = rows[rows["day"] == day]
            closed.append(kept)
            if day in known:
                continue
            name = name_file(champion.name, day, kind)
            content = _read_file(folder, name)
            if content is None:
                content = _encode(kept)
                folder.write(partial(str, name), content)
            kept = closed[-1] = pd.read_parquet(io.BytesIO(content))
            facts: dict[str, Any] = {"day": day, "log": folder.digest}
            if kind == LABEL:
                facts["bundles"] = _count(kept)
            else:
                facts |= {"rates": _count(kept), "kind": kind}
            if plan:
                until = pd.concat(closed, ignore_index=True)
                facts["pairs"] = pairs.count(until, plan, max(known, default=""), day)
            if accepted:
                facts["accepted"] = accepted
            told = f"{len(kept):,} answers, {int(kept['score'].notna().sum()):,} with an outcome"
            text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
            digest, reason = hashlib.sha256(content).hexdigest(), f"{day}: {told} {text}"
            subject = (champion.version, "", champion.bundle)
            known[day] = desk.note(Decision(champion.name, "outcomes", *subject, digest, reason))
    return {day: known[day] for day in days}


def name_file(model: str, day: str, kind: str = LABEL) -> str:
    """Name the file of a closed day: several models may have one log."""
    return f"{CLOSED}{model}-{'' if kind == LABEL else f'{kind}-'}{day}{SUFFIX}"


def _count(rows: "pd.DataFrame") -> dict[str, Any]:
    """Count each version's answers, how many have an outcome, and how right these are together."""
    scores = rows.groupby("bundle", sort=True)["score"]
    found: Any = scores.agg(answers="size", labelled="count", right="sum").round(6)
    return {bundle[:12]: counts for bundle, counts in found.to_dict("index").items()}


def _encode(rows: "pd.DataFrame") -> bytes:
    """Encode rows as Parquet, without texts; equal rows give equal bytes."""
    content = io.BytesIO()
    answers = rows["answer"].map(lambda text: hashlib.sha256(text.encode()).hexdigest()[:16])
    kept = rows.assign(answer=answers)
    # Neither the order of the log nor other days show.
    for name in kept.select_dtypes(["category", "object", "str"]):
        kept[name] = kept[name].astype("str").astype("category")
    kept.to_parquet(content, index=False)
    return content.getvalue()


def _read_file(folder: RequestFolder, name: str) -> bytes | None:
    if name not in folder.list_names(CLOSED):
        return None
    with folder.open(name) as file:
        return file.read()
