"""What the journal allows, and whether it is whole: checks of entries, and nothing else.

A chain of hashes does not show that its end is missing. The head does: the last entry, as the
registry recorded it beside the entry's model. An entry is sealed over all entries before it, of
whichever model: the newest head of all models is that of the whole journal.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from plumbline.contract.errors import (
    BundleError,
    JournalError,
    JournalIntegrityError,
    RefusedError,
    RegistryError,
)
from plumbline.registry.journal import Decision, Entry

NO_CHAMPION = "none"
HEAD_TAG = "plumbline.journal"
RULINGS = ("registered", "keep", "refuse")  # what `register` writes about a bundle
FACTS = re.compile(r" (\{.*\})\Z")  # the end of the reason of an entry on outcomes
WON = ("better", "not worse")  # how a trial ends after which a version may be champion


def require_allowed(decision: Decision, earlier: Sequence[Entry], *, forced: bool = False) -> None:
    """Require that the entries before a move, all of its model, allow it.

    `first` and `promote` take a version that was registered with this bundle and evidence, neither
    refused nor returned since, and never champion; `override` one that was registered; `rollback`
    a former champion as it was chosen, not refused since unless `forced`. Raises JournalError,
    RefusedError, RegistryError or BundleError with the reason why not.
    """
    if decision.action == "rollback":
        _require_as_chosen(decision, earlier)
        if not forced:
            anyway = '. --force "WHY" goes back to it anyway, --to VERSION to another one'
            _refuse_refused(decision.model, decision.version, decision.bundle, earlier, anyway)
        return
    if decision.action != "override":
        _refuse_former_champion(decision, earlier)
    _require_registered(decision, earlier)
    if decision.action != "override":
        refuse_unfit(decision.model, decision.version, decision.bundle, earlier)


def refuse_unfit(model: str, version: str, bundle: str, entries: Sequence[Entry]) -> None:
    """Raise RefusedError for a bundle that was refused after its registration, or returned.

    A bundle that is registered again under another number is the same model: it stays returned.
    """
    _refuse_refused(model, version, bundle, entries)
    for entry in reversed(entries):
        if entry.action == "return" and (entry.version == version or entry.bundle == bundle):
            other = "" if entry.version == version else f", as version {entry.version},"
            raise RefusedError(
                f"{model}: version {version} was returned{other} as a canary on {entry.at[:10]} "
                f"({entry.reason}); nothing was changed. --override with a --reason promotes it "
                "anyway"
            )


def find_last_move(entries: Sequence[Entry]) -> Entry | None:
    """Find the last decision that made a version champion, in entries of one model."""
    return next((entry for entry in reversed(entries) if entry.moves), None)


def find_choice(entries: Sequence[Entry], version: str) -> Entry | None:
    """Find the decision that chose a champion on its evidence: the last one but rollbacks.

    A rollback repeats a choice, and is written from tags that may have been exchanged by then.
    """
    decisions = [entry for entry in entries if entry.moves and entry.version == version]
    chosen = [entry for entry in decisions if entry.action != "rollback"]
    return find_last_move(chosen or decisions)


def read_facts(entry: Entry) -> dict[str, Any]:
    """Read the numbers at the end of the reason of an entry on outcomes; others have none."""
    found = FACTS.search(entry.reason) if entry.action in ("outcomes", "trial") else None
    facts: dict[str, Any] = json.loads(found[1]) if found else {}
    return facts


def describe_won_trial(bundle: str, entries: Sequence[Entry], kind: str = "") -> str:
    """Say by which trial against the present champion a bundle won, of a `kind`; "" for none."""
    for entry in reversed(entries):
        if entry.moves:
            break
        facts = read_facts(entry)
        is_won = facts.get("verdict") in WON and kind in ("", facts.get("kind", "paired"))
        if entry.bundle == bundle and is_won:
            return f"{FACTS.sub('', entry.reason)} (journal entry {entry.number})"
    return ""


def list_rulings(bundle: str, entries: Sequence[Entry]) -> list[Entry]:
    """List what `register` wrote about a bundle: RULINGS, oldest first."""
    return [entry for entry in entries if entry.action in RULINGS and entry.bundle == bundle]


def format_head(entry: Entry) -> str:
    """Return the number and seal of an entry, as the registry records them."""
    return f"{entry.number}:{entry.seal}"


def is_unrecorded(move: Entry, head: str | None) -> bool:
    """Whether a crash came between journal and registry.

    The last `move` of the journal is newer than `head`, an entry of it that the registry recorded.
    """
    return head is None or int(head.partition(":")[0]) < move.number


def require_whole_journal(name: str, entries: list[Entry], heads: Mapping[str, str | None]) -> None:
    """Raise JournalIntegrityError where `entries` lack one that a head names.

    `entries` are those of the models of which `heads` has what the registry recorded; None where it
    recorded nothing of a model.
    """
    present = set(map(format_head, entries))
    for model, head in heads.items():
        if head is not None and head not in present:
            number = head.partition(":")[0]
            raise JournalIntegrityError(
                f"{name}: the journal ends before entry {number:.20}, which the tag {HEAD_TAG} of "
                f"{model} names; restore it from a backup"
            )


def _refuse_refused(
    model: str, version: str, bundle: str, entries: Sequence[Entry], way_out: str = ""
) -> None:
    rulings = list_rulings(bundle, entries)
    if rulings and (last := rulings[-1]).action == "refuse":
        raise RefusedError(
            f"{model} version {version}: its bundle was refused since it was registered "
            f"(journal entry {last.number}: {last.reason}) Nothing was changed{way_out}"
        )


def _require_as_chosen(decision: Decision, earlier: Sequence[Entry]) -> None:
    """Require that a former champion has the files and the evidence that it was chosen with.

    Raises BundleError where it has others, RegistryError where it never was champion.
    """
    entry = find_choice(earlier, decision.version)
    if entry is None:
        raise RegistryError(
            f"{decision.model}: version {decision.version} never was champion; "
            "use `plumbline promote`"
        )
    if (decision.bundle, decision.evidence) != (entry.bundle, entry.evidence):
        raise BundleError(
            f"{_label(decision)}: its bundle or evidence is not the one that journal entry "
            f"{entry.number} made champion; it was exchanged outside plumbline. Nothing was "
            "changed. Restore the version from a backup, or go back further: "
            f"`plumbline rollback {decision.model} --to VERSION`"
        )


def _require_registered(decision: Decision, earlier: Sequence[Entry]) -> None:
    """Require that the journal says of this version, bundle and evidence that it was registered."""
    rulings = list_rulings(decision.bundle, earlier)
    numbers = [entry.version for entry in rulings if entry.action == "registered"]
    if decision.version not in numbers:
        raise JournalError(
            f"{_label(decision)}: the journal does not say that it was registered: it was made "
            "outside plumbline. Nothing was changed. "
            "`dvc repro --force --single-item register` registers what was evaluated here"
        )
    own = [entry for entry in earlier if entry.bundle == decision.bundle]
    last = find_choice(own, decision.version) or rulings[-1]  # a former champion keeps its evidence
    if last.action == "refuse" and decision.action != "override":
        return  # `refuse_unfit` refuses it, with a better reason than other evidence
    if last.evidence != decision.evidence:
        raise JournalError(
            f"{_label(decision)}: its evidence is not that of journal entry {last.number} "
            f"({last.action}): it was exchanged outside plumbline, or a run of `register` was cut "
            "off. Nothing was changed. `dvc repro --force --single-item register` registers again "
            "what was evaluated here"
        )


def _refuse_former_champion(decision: Decision, earlier: Sequence[Entry]) -> None:
    """Refuse a former champion, whose evidence is as old as that: `rollback` brings it back."""
    for entry in earlier:
        if entry.moves and entry.version == decision.version:
            raise RegistryError(
                f"{decision.model}: version {decision.version} was champion before; "
                f"`plumbline rollback {decision.model} --to {decision.version}` brings it back"
            )


def _label(decision: Decision) -> str:
    return f"{decision.model} version {decision.version}"
