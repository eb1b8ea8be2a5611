"""What a version must pass before it is made champion; each check raises and changes nothing."""

import re
from typing import Any

from plumbline.contract.errors import (
    BundleError,
    JournalError,
    ParamsError,
    RefusedError,
    RegistryError,
)
from plumbline.contract.verdict import decide_verdict, read_statuses
from plumbline.registry import signing
from plumbline.registry.journal import Entry, Journal
from plumbline.registry.reader import OpenVersion, open_version
from plumbline.registry.reader.addresses import BUNDLE_TAG, EVIDENCE_TAG
from plumbline.registry.reader.stores import RegisteredVersion
from plumbline.registry.reconciliation import NO_CHAMPION


def verify_version(name: str, version: str) -> tuple[RegisteredVersion, dict[str, Any]]:
    """Return a version and its evidence, once files and evidence are those that its tags name."""
    with open_version(f"models:/{name}/{version}", "promote") as opened:
        _require_own_evidence(opened)
        signing.require_signed_evidence(opened.registered)
        opened.load_predictor()
        return opened.registered, opened.evidence


def require_promotable(version: RegisteredVersion, evidence: dict[str, Any]) -> None:
    """Refuse evidence from whose gates no promotion follows, whatever it says of itself."""
    try:
        verdict = decide_verdict(read_statuses(evidence))
    except ValueError as error:
        raise BundleError(f"{version.label}: its evidence is damaged ({error})") from None
    if evidence.get("verdict") not in (verdict, "error"):
        raise BundleError(
            f"{version.label}: its evidence says {evidence.get('verdict')}, "
            f"from its gates follows {verdict}: it was edited; do not use the version"
        )
    if verdict != "promote":
        raise RefusedError(
            f"{version.label}: the verdict is {evidence.get('verdict')}: "
            f"{evidence.get('summary')} Nothing was changed"
        )


def require_registered(book: Journal, version: RegisteredVersion, *, override: bool) -> None:
    """Require that the journal says of this version, bundle and evidence that it was registered.

    RefusedError where it was refused since, unless `override`; JournalError where the journal says
    nothing of it, or names other evidence.
    """
    bundle, evidence = version.tags.get(BUNDLE_TAG), version.tags.get(EVIDENCE_TAG)
    verdicts: list[Entry] = []
    for entry in book.read_entries(version.name):
        if entry.action in ("registered", "keep", "refuse") and entry.bundle == bundle:
            verdicts.append(entry)
    numbers = [entry.version for entry in verdicts if entry.action == "registered"]
    if version.number not in numbers:
        raise JournalError(
            f"{version.label}: the journal does not say that it was registered: it was made "
            "outside plumbline, or by an older plumbline. Nothing was changed. "
            "`dvc repro --force --single-item register` registers what was evaluated here"
        )
    last = verdicts[-1]
    if last.action == "refuse" and not override:
        raise RefusedError(
            f"{version.label}: its bundle was refused since it was registered "
            f"(journal entry {last.number}: {last.reason}) Nothing was changed"
        )
    if last.evidence != evidence:
        raise JournalError(
            f"{version.label}: its evidence is not that of journal entry {last.number} "
            f"({last.action}): it was exchanged outside plumbline, or a run of `register` was cut "
            "off. Nothing was changed. `dvc repro --force --single-item register` registers again "
            "what was evaluated here"
        )


def require_as_decided(version: RegisteredVersion, moves: list[Entry]) -> None:
    """BundleError where a former champion has other files or evidence than made it champion."""
    decisions = [entry for entry in moves if entry.version == version.number]
    chosen = [entry for entry in decisions if entry.action != "rollback"]
    entry = (chosen or decisions)[-1]
    if version.tags.get(BUNDLE_TAG) != entry.bundle:
        difference = "bundle"
    elif version.tags.get(EVIDENCE_TAG) != entry.evidence:
        difference = "evidence"
    else:
        return
    raise BundleError(
        f"{version.label}: its {difference} is not the one that journal entry {entry.number} made "
        "champion; it was exchanged outside plumbline. Nothing was changed. Restore the version "
        f"from a backup, or go back further: `plumbline rollback {version.name} --to VERSION`"
    )


def check_expected_champion(name: str, current: Entry | None, expect: str | None) -> str:
    """Return the champion's version, or "none"; RegistryError where another one is expected."""
    champion = current.version if current else NO_CHAMPION
    if expect not in (None, champion):
        raise RegistryError(
            f"{name}: the champion is {champion}, not {expect}; nothing was changed. "
            f"Look at `plumbline journal {name}`, then decide again"
        )
    return champion


def refuse_other_bundle(version: RegisteredVersion, expected: str | None) -> None:
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


def refuse_former_champion(book: Journal, name: str, version: str) -> None:
    """Refuse a version that was champion once.

    Its evidence is of that time and says nothing of today; `rollback` is the way.
    """
    for entry in book.read_entries(name):
        if entry.moves and entry.version == version:
            raise RegistryError(
                f"{name}: version {version} was champion before; "
                f"`plumbline rollback {name} --to {version}` brings it back"
            )


def refuse_returned_canary(book: Journal, name: str, version: str) -> None:
    """Refuse a canary that was returned: its evidence did not hold on real requests."""
    last: Entry | None = None
    for entry in book.read_entries(name):
        if (entry.action, entry.version) == ("return", version):
            last = entry
    if last:
        raise RefusedError(
            f"{name}: version {version} was returned as a canary on {last.at[:10]} "
            f"({last.reason}); nothing was changed. --override with a --reason promotes it anyway"
        )


def refuse_other_comparison(
    name: str, version: str, evidence: dict[str, Any], champion: Entry | None
) -> None:
    """Refuse evidence that compares a version with another champion than the present one."""
    compared = evidence.get("champion")
    compared_version, compared_bundle = NO_CHAMPION, None
    if compared:
        compared_version, compared_bundle = str(compared["version"]), compared.get("bundle")
    present_version, present_bundle = NO_CHAMPION, None
    if champion:
        present_version, present_bundle = champion.version, champion.bundle
    if (compared_version, compared_bundle) == (present_version, present_bundle):
        return
    same_number = compared_version == present_version
    note = " (another bundle of that number)" if same_number else ""
    raise RegistryError(
        f"{name}: version {version} was compared with champion {compared_version}, the champion is "
        f"{present_version}{note}; run `plumbline champion {name} --pin`, then `dvc repro`"
    )


def _require_own_evidence(opened: OpenVersion) -> None:
    digests = opened.evidence.get("digests")
    if not isinstance(digests, dict) or digests.get("bundle") != opened.bundle:
        raise BundleError(
            f"{opened.registered.label}: its evidence is about another bundle; do not use it"
        )
