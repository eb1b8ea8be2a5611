"""Which version is champion, and the only ways to change it: one decision at a time, under the journal's lock.

A decision is written to the journal, then the alias moves, then the registry is told which entry that was. If a crash
comes between, the next command that takes the lock finishes the move; an alias that stands anywhere else was moved by
other hands, and everything stops until a person has looked.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import (
    BundleError,
    JournalError,
    ParamsError,
    PlumblineError,
    RefusedError,
    RegistryError,
)
from plumbline.contract.task import Predictor
from plumbline.registry import champion_pin, journal, model_versions
from plumbline.registry.champion_pin import Pointer
from plumbline.registry.journal import Action, Decision, Entry, Journal
from plumbline.registry.model_versions import CHAMPION
from plumbline.registry.package import packaging
from plumbline.tracking import mlflow_runs

if TYPE_CHECKING:
    from mlflow import MlflowClient

NONE = "none"
HEAD_TAG = "plumbline.journal"


def first(name: str, version: str) -> Entry | None:
    """Make `version` the champion of a model that has none and never had one; None where there is one already."""
    with _opened() as (client, book):
        if _settled(client, book, name) is not None:
            return None
        found, _ = _proven(name, version)
        return _decide(client, book, found, NONE, "first", "registry.first_champion in params.yaml")


def promote(
    name: str,
    version: str,
    expect: str,
    reason: str,
    override: bool = False,
    bundle: str | None = None,
    once: bool = False,
) -> Entry:
    """Make `version` champion, if its evidence says so and the champion still is `expect` (a version, or "none").

    `override` passes over the verdict and the comparison, never over changed files; it takes a reason. Where a
    `bundle` is given, its digest or the first 12 digits of that, the decision is on that bundle and no other. `once`:
    the reason names this one request, so that who repeats it after a crash is given the decision that it led to.
    Raises RegistryError where another is champion or was compared with, RefusedError where the verdict is not promote
    or the version was returned as a canary, BundleError where files or evidence are not what was registered.
    """
    if override and not reason.strip():
        raise ParamsError("--override takes a --reason: it stands in the journal")
    found, evidence = _proven(name, version)
    _refuse_other_bundle(found, bundle)
    if not override and evidence.get("verdict") != "promote":
        raise RefusedError(
            f"{name} version {version}: the verdict is {evidence.get('verdict')}: {evidence.get('summary')} "
            "Nothing was changed"
        )
    with _opened() as (client, book):
        current = _settled(client, book, name)
        if (
            once
            and current
            and (current.version, current.previous, current.reason) == (version, expect, reason)
        ):
            return current
        stands = _expected(name, current, expect)
        if stands == version:
            raise RegistryError(f"{name}: version {version} is the champion already")
        if model_versions.resolve(f"models:/{name}/{version}").tags != found.tags:
            raise RegistryError(
                f"{name}: version {version} was evaluated anew meanwhile; look again, then decide"
            )
        if not override:
            _refuse_former_champion(book, name, version)
            _refuse_returned_canary(book, name, version)
            _refuse_other_comparison(name, version, evidence, current)
        return _decide(client, book, found, stands, "override" if override else "promote", reason)


def rollback(name: str, to: str | None, reason: str, expect: str | None = None) -> Entry:
    """Bring back the champion before this one, or version `to`, which must have been champion once.

    Raises RegistryError where there is none, or the champion is not `expect`, if that is given.
    """
    with _opened() as (client, book):
        current = _settled(client, book, name)
        stands = _expected(name, current, expect)
        moves = [entry for entry in book.entries(name) if entry.moves]
        version = to or _before(moves, stands)
        if version == NONE:
            raise RegistryError(f"{name}: there is no champion before {stands} to go back to")
        if version == stands:
            raise RegistryError(f"{name}: version {version} is the champion already")
        if version not in [entry.version for entry in moves]:
            raise RegistryError(
                f"{name}: version {version} never was champion; it takes `plumbline promote`"
            )
        found = packaging.load(f"models:/{name}/{version}")[1]
        return _decide(client, book, found, stands, "rollback", reason)


def note(name: str, action: Action, version: str, bundle: str, evidence: str, reason: str) -> Entry:
    """Put a verdict that moves nothing (refuse, keep) on record; once, however often it is asked for."""
    with _opened() as (client, book):
        _settled(client, book, name)
        for entry in book.entries(name):
            if (entry.action, entry.evidence) == (action, evidence):
                return entry
        return _append(client, book, Decision(name, action, version, "", bundle, evidence, reason))


def look(name: str, question: str, split: str, plan: str) -> tuple[int, str]:
    """Which use of a test split this is, from 1, and what was planned at the first: each question counts once.

    `split` is the digest of the split, whichever model asks; `question` that of everything that is measured on it.
    """
    with _opened() as (client, book):
        _settled(client, book, name)
        asked = [
            entry for entry in book.entries() if (entry.action, entry.evidence) == ("look", split)
        ]
        known = [entry.bundle for entry in asked]
        if question not in known:
            asked.append(
                _append(client, book, Decision(name, "look", "", "", question, split, plan))
            )
            known.append(question)
        return known.index(question) + 1, asked[0].reason


@contextmanager
def undecided(version: Any) -> Iterator[bool]:
    """Whether no decision ever made `version` champion; none is made while the block runs."""
    with _opened() as (client, book):
        _settled(client, book, version.name)
        yield str(version.version) not in [
            entry.version for entry in book.entries(version.name) if entry.moves
        ]


def history(name: str) -> list[Entry]:
    """All decisions on the model, oldest first, chain and head checked."""
    with _opened() as (client, book):
        _settled(client, book, name)
        return book.entries(name)


def champion(name: str, as_of: str | None) -> Entry | None:
    """The decision that made the champion, now or at the end of the day or moment `as_of` (ISO 8601, UTC)."""
    until = as_of if as_of is None or "T" in as_of else f"{as_of}T23:59:59+00:00"
    made = [
        entry for entry in history(name) if entry.moves and (until is None or entry.at <= until)
    ]
    return made[-1] if made else None


def current(name: str) -> Entry | None:
    """The decision that made the champion of now, journal and registry in agreement; None where there is none."""
    with _opened() as (client, book):
        return _settled(client, book, name)


def pin(name: str) -> Pointer | None:
    """Write the champion of now, or that there is none, into champion.json: the next `dvc repro` compares with it."""
    if not champion_pin.belongs_here():
        raise PlumblineError(
            "this is no checkout (no params.yaml); run it from the top of the repository"
        )
    entry = current(name)
    found = Pointer(entry.version, entry.bundle) if entry else None
    champion_pin.write(name, found)
    return found


def load(uri: str) -> tuple[Predictor, Any]:
    """The verified load of `packaging`; of a champion, only if journal, evidence and registry tell one story."""
    asked = model_versions.parse(uri)
    name = asked.name
    entry = current(name) if asked.alias == CHAMPION else None
    if entry is None:
        return packaging.load(uri)
    exact = f"models:/{name}/{entry.version}"
    found = model_versions.resolve(exact)
    if (found.tags.get(model_versions.BUNDLE_TAG), found.tags.get(model_versions.EVIDENCE_TAG)) != (
        entry.bundle,
        entry.evidence,
    ):
        raise BundleError(
            f"{name} version {entry.version}: not what journal entry {entry.number} made champion (other digests in "
            f"its tags); do not use it. `plumbline rollback {name}` brings back the champion before it"
        )
    model_versions.evidence(found)
    return packaging.load(exact)


def half_done(move: Entry, stands: str, head: str | None) -> bool:
    """Whether a crash came between journal and registry: the one has the last move, the other never heard of it.

    `stands` is the version that is champion in the registry, `head` the entry that it was told of last.
    """
    told = int(head.partition(":")[0]) if head else 0
    return told < move.number and stands in (move.previous, move.version)


def cut(entries: list[Entry], head: str | None) -> str | None:
    """The number of the entry that the registry was told of last and that is gone from the model's journal, or None.

    A chain does not show that its end is missing.
    """
    known = head is None or head in [_head(entry) for entry in entries]
    return None if known or head is None else head.partition(":")[0]


@contextmanager
def _opened() -> Iterator[tuple["MlflowClient", Journal]]:
    """Registry and journal, under the lock."""
    from mlflow.exceptions import MlflowException

    with journal.opened() as book:
        try:
            yield model_versions.client(), book
        except MlflowException as error:
            raise RegistryError(
                f"{model_versions.where()} failed ({mlflow_runs.first_line(error)}); run the command again: if the decision "
                "stands in the journal, that finishes its move"
            ) from None


def _proven(name: str, version: str) -> tuple[Any, dict[str, Any]]:
    """The version and what its evidence says, once files and evidence are those that were registered."""
    _, found = packaging.load(f"models:/{name}/{version}")
    evidence = model_versions.evidence(found)
    if evidence.get("digests", {}).get("bundle") != found.tags[model_versions.BUNDLE_TAG]:
        raise BundleError(
            f"{name} version {version}: its evidence speaks of another bundle; do not use it"
        )
    return found, evidence


def _expected(name: str, current: Entry | None, expect: str | None) -> str:
    """The champion's version, or "none"; RegistryError where it is not the one that was looked at."""
    stands = current.version if current else NONE
    if expect not in (None, stands):
        raise RegistryError(
            f"{name}: the champion is {stands}, not {expect}; nothing was changed. "
            f"Look at `plumbline journal {name}`, then decide again"
        )
    return stands


def _refuse_other_bundle(version: Any, asked: str | None) -> None:
    if asked is None:
        return
    if not re.fullmatch(r"[0-9a-f]{12,64}", asked):
        raise ParamsError(
            f"--bundle {asked[:80]!r}: expected the digest of a bundle, at least its first 12 digits"
        )
    if not version.tags[model_versions.BUNDLE_TAG].startswith(asked):
        raise RegistryError(
            f"{version.name} version {version.version} is bundle {version.tags[model_versions.BUNDLE_TAG][:12]}, not "
            f"{asked[:12]}, which was looked at; nothing was changed"
        )


def _refuse_former_champion(book: Journal, name: str, version: str) -> None:
    """What once made a version champion says nothing of today; it keeps that evidence, and `rollback` is the way."""
    if version in [entry.version for entry in book.entries(name) if entry.moves]:
        raise RegistryError(
            f"{name}: version {version} was champion before; `plumbline rollback {name} --to {version}` brings it back"
        )


def _refuse_returned_canary(book: Journal, name: str, version: str) -> None:
    """What was measured on held-out examples did not hold on requests."""
    returned = [
        entry
        for entry in book.entries(name)
        if (entry.action, entry.version) == ("return", version)
    ]
    if returned:
        raise RefusedError(
            f"{name}: version {version} was returned as a canary on {returned[-1].at[:10]} ({returned[-1].reason}); "
            "nothing was changed. --override with a --reason promotes it all the same"
        )


def _refuse_other_comparison(
    name: str, version: str, evidence: dict[str, Any], champion: Entry | None
) -> None:
    """Evidence that a version is better holds against the very champion that it was compared with."""
    compared = evidence.get("champion")
    theirs = (str(compared["version"]), compared.get("bundle")) if compared else (NONE, None)
    ours = (champion.version, champion.bundle) if champion else (NONE, None)
    if theirs != ours:
        other = " (another bundle of that number)" if theirs[0] == ours[0] else ""
        raise RegistryError(
            f"{name}: version {version} was compared with champion {theirs[0]}, the champion is {ours[0]}{other}; "
            f"run `plumbline champion {name} --pin`, then `dvc repro`"
        )


def _before(moves: list[Entry], version: str) -> str:
    """The champion that `version` replaced when it was chosen: going back twice goes back two steps."""
    return next(
        (e.previous for e in reversed(moves) if e.version == version and e.action != "rollback"),
        NONE,
    )


def _decide(
    client: "MlflowClient", book: Journal, version: Any, previous: str, action: Action, reason: str
) -> Entry:
    bundle, evidence = (
        version.tags.get(tag, "")
        for tag in (model_versions.BUNDLE_TAG, model_versions.EVIDENCE_TAG)
    )
    decision = Decision(
        version.name, action, str(version.version), previous, bundle, evidence, reason
    )
    pinned = action != "first" and champion_pin.belongs_here()
    if pinned:
        champion_pin.read()  # a damaged one is told before anything is decided
    entry = book.append(decision)
    _follow(client, entry, entry)
    if pinned:
        champion_pin.write(entry.model, Pointer(entry.version, entry.bundle))
    return entry


def _settled(client: "MlflowClient", book: Journal, name: str) -> Entry | None:
    """The entry that made the champion, once journal and registry agree and a crash's half move was finished."""
    entries, head = book.entries(name), _told(client, name)
    if number := cut(entries, head):
        raise JournalError(
            f"{name}: the journal ends before entry {number}; restore it from a backup"
        )
    moves = [entry for entry in entries if entry.moves]
    holder = model_versions.holder(client, name, CHAMPION)
    stands = str(holder.version) if holder else NONE
    if not moves:
        if holder:
            raise JournalError(
                f"{name}: version {stands} is champion, but no decision made it so; see docs/operate.md"
            )
        return None
    last = moves[-1]
    if half_done(last, stands, head):
        _follow(client, last, entries[-1])
    elif stands != last.version:
        raise JournalError(
            f"{name}: the journal says that version {last.version} is champion, the registry says {stands}: "
            "the alias was moved by other hands. Set it back to the version of the journal"
        )
    return last


def _told(client: "MlflowClient", name: str) -> str | None:
    """Number and seal of the entry that the registry was told of last."""
    models = client.search_registered_models(f"name = '{name}'")
    return models[0].tags.get(HEAD_TAG) if models else None


def _append(client: "MlflowClient", book: Journal, decision: Decision) -> Entry:
    """Add an entry that moves nothing, and tell the registry of it where it knows the model."""
    entry = book.append(decision)
    if client.search_registered_models(f"name = '{decision.model}'"):
        client.set_registered_model_tag(decision.model, HEAD_TAG, _head(entry))
    return entry


def _follow(client: "MlflowClient", move: Entry, last: Entry) -> None:
    """Bring the registry to where the journal stands: its last move, its last entry."""
    client.set_registered_model_alias(move.model, CHAMPION, move.version)
    client.set_registered_model_tag(last.model, HEAD_TAG, _head(last))


def _head(entry: Entry) -> str:
    return f"{entry.number}:{entry.seal}"
