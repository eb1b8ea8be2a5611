"""Which version is champion, and the only ways to change it: each decision is made at a desk.

`desk` says in which order a decision is written and how a crash is healed.
"""

import re
from typing import Any, Literal

from plumbline.contract.errors import ParamsError, PlumblineError, RefusedError, RegistryError
from plumbline.registry import champion_pin, local_files
from plumbline.registry.champion_pin import ChampionPin
from plumbline.registry.desk import Desk, open_desk
from plumbline.registry.journal import Action, Decision, Entry
from plumbline.registry.journal_rules import (
    NO_CHAMPION,
    describe_won_trial,
    list_rulings,
    require_allowed,
)
from plumbline.registry.reader import find_version, open_version
from plumbline.registry.reader.addresses import BUNDLE_TAG, EVIDENCE_TAG
from plumbline.registry.reader.stores import RegisteredVersion

Ruling = Literal["registered", "keep", "refuse"]


def bootstrap_champion(desk: Desk, version: str) -> Entry | None:
    """Make `version` the first champion of a model; None where there is a champion already."""
    if desk.champion is not None:
        return None
    registered, evidence = _verify_version(desk.model, version)
    _require_promotable(registered, evidence)
    reason = "registry.first_champion in params.yaml"
    decision = _build_decision(registered, NO_CHAMPION, "first", reason)
    require_allowed(decision, desk.entries)
    return desk.move(decision)


def promote(
    name: str,
    version: str,
    expect: str,
    reason: str,
    override: bool = False,
    bundle: str | None = None,
    once: bool = False,
    needs_trial: str = "",
) -> Entry:
    """Make `version` champion, if its evidence allows it and the champion still is `expect`.

    `expect` is a version, or "none". `override` skips the verdict and the comparison, never the
    integrity checks; it needs a reason. Where a `bundle` is given, its digest or the first 12
    digits of that, the decision is on that bundle and no other. `once`: the reason names this one
    request; if it is repeated after a crash, the decision that it led to is returned. A trial that
    the version won is added to the reason; `needs_trial`: its kind, or an override.

    Raises RegistryError where another version is champion or was compared with, JournalError where
    the journal does not say that this bundle was registered with this evidence, RefusedError where
    the verdict is not promote, or the version was refused since or returned as a canary,
    BundleError where files or evidence are not what was registered, or not signed.
    """
    if override and not reason.strip():
        raise ParamsError("--override needs a --reason: it is written into the journal")
    registered, evidence = _verify_version(name, version)
    _refuse_other_bundle(registered, bundle)
    if not override:
        _require_promotable(registered, evidence)
    with open_desk(name, accept_alias=override) as desk:
        current = desk.champion
        won = describe_won_trial(registered.tags[BUNDLE_TAG], desk.entries, needs_trial)
        if once and current and _is_repeated(current, version, expect, reason):
            return current
        champion = _check_expected_champion(name, current, expect)
        if champion == version:
            raise RegistryError(f"{name}: version {version} is the champion already")
        if find_version(f"models:/{name}/{version}").tags != registered.tags:
            raise RegistryError(
                f"{name}: version {version} was evaluated again meanwhile; look again, then decide"
            )
        action: Action = "override" if override else "promote"
        told = "; ".join(filter(None, (reason, won)))
        decision = _build_decision(registered, champion, action, told)
        require_allowed(decision, desk.entries)
        if not override:
            _refuse_other_comparison(name, version, evidence, current)
            if needs_trial and current and not won:
                raise _build_trial_error(registered)
        return desk.move(decision)


def roll_back(
    name: str, to: str | None, reason: str, expect: str | None = None, force: str = ""
) -> Entry:
    """Bring back the champion before this one, or version `to`, which must have been champion once.

    Raises RegistryError where there is none, or the champion is not `expect`, if that is given;
    RefusedError where its bundle was refused later, unless `force` says why it answers anyway.
    """
    reason = "; ".join(filter(None, (reason, force and f"forced: {force}")))
    with open_desk(name) as desk:
        champion = _check_expected_champion(name, desk.champion, expect)
        version = to or _find_predecessor(desk.entries, champion)
        if version == NO_CHAMPION:
            raise RegistryError(f"{name}: there is no champion before {champion} to go back to")
        if version == champion:
            raise RegistryError(f"{name}: version {version} is the champion already")
        address = f"models:/{name}/{version}"
        decision = _build_decision(find_version(address), champion, "rollback", reason)
        require_allowed(decision, desk.entries, forced=bool(force))  # before its files are read
        with open_version(address) as opened:
            if _build_decision(opened.registered, champion, "rollback", reason) != decision:
                raise RegistryError(f"{name}: version {version} was changed meanwhile; look again")
            opened.load_predictor()
        return desk.move(decision)


def record_ruling(
    desk: Desk, action: Ruling, version: str, bundle: str, evidence: str, reason: str
) -> Entry:
    """Record what `register` decides on a bundle without moving the champion.

    Repeated, it is one entry; but a new one where the bundle was ruled on otherwise meanwhile. Only
    a version that was `registered` may be promoted: it stays so when it is kept.
    """
    rulings = list_rulings(bundle, desk.entries)
    if action == "registered":
        rulings = [entry for entry in rulings if entry.action != "keep"]
    for last in rulings[-1:]:
        if (last.action, last.version, last.evidence) == (action, version, evidence):
            return last
    return desk.note(Decision(desk.model, action, version, "", bundle, evidence, reason))


def record_finding(
    name: str,
    action: Literal["drift", "retrain", "outcomes"],
    version: str,
    bundle: str,
    evidence: str,
    reason: str,
) -> Entry:
    """Record what drift or the calendar asks for; once for each `evidence`, the digest of why."""
    with open_desk(name) as desk:
        for entry in desk.entries:
            if (entry.action, entry.evidence) == (action, evidence):
                return entry
        return desk.note(Decision(name, action, version, "", bundle, evidence, reason))


def read_history(name: str) -> list[Entry]:
    """Read all decisions on the model, oldest first, chain and head checked."""
    with open_desk(name) as desk:
        return desk.entries


def find_champion(name: str) -> Entry | None:
    """Find the decision that made the present champion, once journal and registry agree."""
    with open_desk(name) as desk:
        return desk.champion


def find_compared_champion(name: str) -> Entry | None:
    """Find the decision that made the champion to compare with; None where there is none.

    That of champion.json, else the present one. A move that a crash cut off is finished before
    champion.json is read. JournalError where the journal does not contain the decision that
    champion.json names.
    """
    if local_files.is_new(name) and name not in champion_pin.read_pins():
        return None  # known without MLflow, whose import takes seconds
    with open_desk(name) as desk:
        pins = champion_pin.read_pins()
        if name not in pins:
            return desk.champion
        pin = pins[name]
        return champion_pin.require_decision(name, pin, desk.journal) if pin else None


def pin_champion(name: str) -> ChampionPin | None:
    """Write the present champion, or that there is none, into champion.json.

    The next `dvc repro` compares with it.
    """
    if not champion_pin.is_checkout():
        raise PlumblineError(
            "this folder is not a checkout (it has no params.yaml); "
            "run it from the top of the repository"
        )
    entry = find_champion(name)
    pin = champion_pin.build_pin(entry) if entry else None
    champion_pin.write_pin(name, pin)
    return pin


def _verify_version(name: str, version: str) -> tuple[RegisteredVersion, dict[str, Any]]:
    """Return a version and its evidence, once files and evidence are those that its tags name."""
    with open_version(f"models:/{name}/{version}") as opened:
        opened.load_predictor()
        return opened.registered, opened.evidence


def _require_promotable(version: RegisteredVersion, evidence: dict[str, Any]) -> None:
    """Refuse evidence with another verdict; `require_allowed` says whether it was exchanged."""
    if evidence.get("verdict") != "promote":
        raise RefusedError(
            f"{version.label}: the verdict is {evidence.get('verdict')}: "
            f"{evidence.get('summary')} Nothing was changed"
        )


def _check_expected_champion(name: str, current: Entry | None, expect: str | None) -> str:
    """Return the champion's version, or "none"; RegistryError where another one is expected."""
    champion = current.version if current else NO_CHAMPION
    if expect not in (None, champion):
        raise RegistryError(
            f"{name}: the champion is {champion}, not {expect}; nothing was changed. "
            f"Look at `plumbline journal {name}`, then decide again"
        )
    return champion


def _refuse_other_bundle(version: RegisteredVersion, expected: str | None) -> None:
    """Refuse a version whose bundle does not have the digest, or its first 12 digits or more."""
    if expected is None:
        return
    if not re.fullmatch(r"[0-9a-f]{12,64}", expected):
        raise ParamsError(
            f"--bundle {expected[:80]!r}: expected the digest of a bundle, "
            "at least its first 12 digits"
        )
    actual = version.tags[BUNDLE_TAG]
    if not actual.startswith(expected):
        raise RegistryError(
            f"{version.label} is bundle {actual[:12]}, not {expected[:12]}, as `--bundle` says; "
            "nothing was changed"
        )


def _refuse_other_comparison(
    name: str, version: str, evidence: dict[str, Any], champion: Entry | None
) -> None:
    """Refuse evidence that compares a version with another champion than the present one."""
    compared = evidence.get("champion") or {"version": NO_CHAMPION}
    before = (str(compared["version"]), compared.get("bundle"))
    now = (champion.version, champion.bundle) if champion else (NO_CHAMPION, None)
    if before == now:
        return
    note = " (another bundle of that number)" if before[0] == now[0] else ""
    raise RegistryError(
        f"{name}: version {version} was compared with champion {before[0]}, the champion is "
        f"{now[0]}{note}; run `plumbline champion {name} --pin`, then `dvc repro`"
    )


def _is_repeated(move: Entry, version: str, expect: str, reason: str) -> bool:
    """Whether a promotion is what was asked for; a trial may have been added to its reason."""
    is_told = move.reason == reason or move.reason.startswith(f"{reason}; trial ")
    return is_told and (move.version, move.previous) == (version, expect)


def _build_trial_error(version: RegisteredVersion) -> RegistryError:
    return RegistryError(
        f"{version.label} has won no trial against this champion, which registry.trial in "
        "params.yaml asks for; nothing was changed. `plumbline outcomes trial LOG "
        f"{version.number}` begins one; --override with a --reason promotes it anyway"
    )


def _build_decision(
    version: RegisteredVersion, previous: str, action: Action, reason: str
) -> Decision:
    """Build the decision on a version, with the digests of its bundle and its evidence."""
    bundle = version.tags.get(BUNDLE_TAG, "")
    evidence = version.tags.get(EVIDENCE_TAG, "")
    return Decision(version.name, action, version.number, previous, bundle, evidence, reason)


def _find_predecessor(entries: list[Entry], version: str) -> str:
    """The champion that `version` replaced when it was chosen.

    So going back twice goes back two steps.
    """
    for entry in reversed(entries):
        if entry.moves and entry.version == version and entry.action != "rollback":
            return entry.previous
    return NO_CHAMPION
