"""What a version must pass before it is made champion; each check raises and changes nothing."""

import re
from typing import Any

from plumbline.contract.errors import BundleError, ParamsError, RefusedError, RegistryError
from plumbline.registry.journal import Entry, Journal
from plumbline.registry.reader import open_version
from plumbline.registry.reader.addresses import BUNDLE_TAG
from plumbline.registry.reader.stores import RegisteredVersion
from plumbline.registry.reconciliation import NO_CHAMPION


def verify_version(name: str, version: str) -> tuple[RegisteredVersion, dict[str, Any]]:
    """Return a version and its evidence, once files and evidence are those that were registered."""
    with open_version(f"models:/{name}/{version}", "promote") as opened:
        opened.load_predictor()
        if opened.evidence.get("digests", {}).get("bundle") != opened.bundle:
            raise BundleError(
                f"{name} version {version}: its evidence is about another bundle; do not use it"
            )
        return opened.registered, opened.evidence


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
