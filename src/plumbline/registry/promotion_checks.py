"""What a version must pass before it is made champion; each check raises and changes nothing."""

import re
from typing import Any

from plumbline.contract.errors import ParamsError, RefusedError, RegistryError
from plumbline.registry.journal import Entry
from plumbline.registry.journal_rules import NO_CHAMPION
from plumbline.registry.reader import open_version
from plumbline.registry.reader.addresses import BUNDLE_TAG
from plumbline.registry.reader.stores import RegisteredVersion


def verify_version(name: str, version: str) -> tuple[RegisteredVersion, dict[str, Any]]:
    """Return a version and its evidence, once files and evidence are those that its tags name."""
    with open_version(f"models:/{name}/{version}") as opened:
        opened.load_predictor()
        return opened.registered, opened.evidence


def require_promotable(version: RegisteredVersion, evidence: dict[str, Any]) -> None:
    """Refuse evidence with another verdict; `require_allowed` says whether it was exchanged."""
    if evidence.get("verdict") != "promote":
        raise RefusedError(
            f"{version.label}: the verdict is {evidence.get('verdict')}: "
            f"{evidence.get('summary')} Nothing was changed"
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


def refuse_other_comparison(
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
