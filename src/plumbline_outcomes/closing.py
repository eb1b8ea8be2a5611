"""Close days: what is known of a day once it is old enough decides, and later labels do not.

closed-MODEL-DAY.parquet lies beside the log, with digests in place of texts and ids; the journal
has its digest. Whoever comes second finds the file, or the entry, and adds nothing.
"""

import hashlib
import io
import json
from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.process.leftovers import remove_leftovers
from plumbline.registry.desk import open_desk
from plumbline.registry.journal import Decision, Entry
from plumbline.registry.journal_rules import read_facts
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.sources.request_folder import SUFFIX, RequestFolder
from plumbline_outcomes import trial_look
from plumbline_outcomes.trial import Plan, find_end

if TYPE_CHECKING:
    import pandas as pd

CLOSED = "closed-"  # begins the names of these files
LABEL = "label"  # the kind of outcomes that are truths
Gap = tuple[int, date, date]  # files of the log that are missing: how many, between which days


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


class ClosedDays:
    """The days of a log that were closed by one kind of outcomes: entries, and rows of each.

    `damage` says which file is not what the journal says.
    """

    def __init__(
        self, champion: CachedVersion, folder: RequestFolder, kind: str, history: Sequence[Entry]
    ) -> None:
        self.model, self._subject = champion.name, (champion.version, "", champion.bundle)
        self._folder, self._kind = folder, kind
        self.entries: dict[str, Entry] = {}
        self.rows: list[pd.DataFrame] = []
        self.damage = ""
        for day, entry in list_closed(history, folder.digest, kind).items():
            self._add(day, entry)

    def list_counts(self, plan: Plan) -> list[dict[str, Any]]:
        """List what the journal counted for a trial on these days."""
        counts = [read_facts(entry).get("pairs", {}) for entry in self.entries.values()]
        return [each for each in counts if each.get("trial") == plan.number]

    def close(
        self,
        rows: "pd.DataFrame",
        last: date,
        gaps: Sequence[Gap],
        plan: Plan | None,
        accepted: str = "",
    ) -> tuple["pd.DataFrame", str]:
        """Close the days until the `last`; all closed rows, and what keeps the next day open.

        The rows of each day are kept beside the log, and counted in the journal, for the trial
        `plan` too. What somebody closed meanwhile stays, and a file that a killed run left is the
        one.
        """
        import pandas as pd

        for closed in self.rows:  # a retry after its day is the same unit
            rows = rows[~rows["id"].isin(closed["id"])]
        due, why_open = _list_due(rows, last, gaps)
        plan = None if plan and plan.ended else plan
        with open_desk(self.model) as desk:
            if self._folder.local:
                remove_leftovers(self._folder.local)
            ended = find_end(plan, desk.entries, self._folder.digest) if plan else ""
            if ended:
                raise DataError(f"{self._folder.shown}: {ended} since the start; run it again")
            known = list_closed(desk.entries, self._folder.digest, self._kind)
            for day in due:
                if day not in known:
                    if self._read_file(day) is None:
                        content = _encode(rows[rows["day"] == day])
                        self._folder.write(partial(str, self._name_file(day)), content)
                    known[day] = desk.note(self._decide(day, plan, accepted))
                self._add(day, known[day])
                if self.damage:  # later days count it too
                    raise DataError(self.damage)
        return pd.concat(self.rows, ignore_index=True) if self.rows else rows[:0], why_open

    def _add(self, day: str, entry: Entry) -> None:
        """Add a day, and its rows where its file is what its entry says."""
        self.entries[day] = entry
        content = self._read_file(day)
        if content is not None and hashlib.sha256(content).hexdigest() == entry.evidence:
            self.rows.append(_decode(content))
            return
        found = "is missing" if content is None else "was changed since"
        self.damage = (
            f"{self._folder.shown}/{self._name_file(day)}: {found}; journal entry {entry.number} "
            "closed that day with it. Restore it from a backup"
        )

    def _decide(self, day: str, plan: Plan | None, accepted: str) -> Decision:
        """Say what the file of a day has, for the journal."""
        import pandas as pd

        content = self._read_file(day) or b""
        rows = _decode(content)
        facts: dict[str, Any] = {"day": day, "log": self._folder.digest}
        if self._kind == LABEL:
            facts["bundles"] = _count(rows)
        else:
            facts |= {"rates": _count(rows), "kind": self._kind}
        if plan:
            until = pd.concat([*self.rows, rows], ignore_index=True)
            before = max(self.entries, default="")
            facts["pairs"] = trial_look.count(until, plan, before, day)
        if accepted:
            facts["accepted"] = accepted
        told = f"{len(rows):,} answers, {int(rows['score'].notna().sum()):,} with an outcome"
        text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
        digest, reason = hashlib.sha256(content).hexdigest(), f"{day}: {told} {text}"
        return Decision(self.model, "outcomes", *self._subject, digest, reason)

    def _name_file(self, day: str) -> str:
        """Name the file of a closed day: several models may have one log."""
        kind = "" if self._kind == LABEL else f"{self._kind}-"
        return f"{CLOSED}{self.model}-{kind}{day}{SUFFIX}"

    def _read_file(self, day: str) -> bytes | None:
        name = self._name_file(day)
        if name not in self._folder.list_names(CLOSED):
            return None
        with self._folder.open(name) as file:
            return file.read()


def _list_due(rows: "pd.DataFrame", last: date, gaps: Sequence[Gap]) -> tuple[list[str], str]:
    """List the days until the `last` that can be closed, and say what keeps the next one open.

    A day in one of the `gaps` of the log stays open, and those after it: the alarm takes days in
    their order.
    """
    due = sorted(day for day in set(rows["day"]) if date.fromisoformat(day) <= last)
    for number, day in enumerate(due):
        for count, first, until in gaps:
            if first <= date.fromisoformat(day) <= until:
                return due[:number], (
                    f"{day} stays open: {count:,} files of the log between {first} and {until} are "
                    'missing; bring them back, or --accept-gap "WHY"'
                )
    return due, ""


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


def _decode(content: bytes) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_parquet(io.BytesIO(content))
