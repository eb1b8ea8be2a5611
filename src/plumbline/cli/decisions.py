"""`plumbline promote`, `rollback`, `champion` and `journal`: which version is champion, and why."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from plumbline.ci.forge import find_forge
from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.registry import champion_pin
from plumbline.terminal.console import print_json, print_plain
from plumbline.terminal.options import (
    AsJson,
    JsonLines,
    ModelName,
    ModelNameOrParams,
    Reason,
    Version,
)

if TYPE_CHECKING:
    from plumbline.registry.journal import Entry

PROMOTE_EXAMPLE = 'plumbline promote ticket-router 2 --expect 1 --reason "better on refunds"'
ROLLBACK_EXAMPLE = 'plumbline rollback ticket-router --reason "worse on refunds"'
CHAMPION_EXAMPLE = "plumbline champion ticket-router --pin"
JOURNAL_EXAMPLE = "plumbline journal ticket-router --json"
COMPARES = "commit it; the next `dvc repro` compares with it"


def promote(
    name: ModelName,
    version: Version,
    expect: Annotated[
        str,
        typer.Option(
            help="The champion you compared with: a version, or none. Nothing is changed if "
            "another version is champion by now."
        ),
    ],
    reason: Reason = "",
    override: Annotated[
        bool,
        typer.Option(
            help="Skip the verdict and comparison checks, never the integrity checks. "
            "Requires --reason."
        ),
    ] = False,
    bundle: Annotated[
        str | None,
        typer.Option(
            help="The digest of the bundle you looked at, or its first 12 digits; a version with "
            "another bundle is not promoted.",
            show_default="any bundle",
        ),
    ] = None,
    asked_by: Annotated[
        str | None,
        typer.Option(
            help="In CI: who asked for the promotion; somebody else must have approved this run.",
            show_default="no approval needed",
        ),
    ] = None,
) -> None:
    """Make VERSION the champion of NAME.

    Its verdict must be promote, and the champion must still be the expected one.
    """
    from plumbline.registry import promotion
    from plumbline.registry.reader import find_version
    from plumbline.registry.reader.run_files import read_evidence

    if asked_by is not None:
        # Of the evidence, which is checked: a tag may have been changed in MLflow.
        lineage = read_evidence(find_version(f"models:/{name}/{version}")).get("lineage") or {}
        approval = find_forge().describe_approval(asked_by, lineage.get("git_commit", ""))
        reason = f"{reason}; {approval}" if reason else approval
    how = (override, bundle, asked_by is not None, _find_trial_needed(name))
    _announce(promotion.promote(name, version, expect, reason, *how))


def roll_back(
    name: ModelNameOrParams = "",
    to: Annotated[
        str | None,
        typer.Option(
            help="The version to go back to; it must have been champion.",
            show_default="the champion before this one",
        ),
    ] = None,
    reason: Reason = "",
    expect: Annotated[
        str | None,
        typer.Option(
            help="The champion you looked at: a version. Nothing is changed if another version is "
            "champion by now.",
            show_default="whichever is champion",
        ),
    ] = None,
    force: Annotated[
        str, typer.Option(help="Why it answers although it was refused later.", show_default="no")
    ] = "",
) -> None:
    """Bring back an earlier champion of NAME, by default the one before."""
    from plumbline.registry import promotion

    _announce(promotion.roll_back(name or _read_name(), to, reason, expect, force))


def show_champion(
    name: ModelNameOrParams = "",
    pin: Annotated[
        bool,
        typer.Option(
            "--pin", help="Write the champion to champion.json: `dvc repro` compares with it."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print which version is champion of NAME, and which decision made it so."""
    from plumbline.registry import promotion

    name = name or _read_name()
    if pin:
        pointer = promotion.pin_champion(name)
        pinned = f"version {pointer.version}" if pointer else "has no champion"
        print_plain(f"{layout.CHAMPION}: {name} {pinned}; {COMPARES}")
        return
    entry = promotion.find_champion(name)
    if entry is None:
        raise PlumblineError(f"{name}: no champion")
    if as_json:
        print_json(asdict(entry))
        return
    decision = f"{entry.action}; entry {entry.number}"
    print_plain(f"{name} version {entry.version}, by {entry.actor} at {entry.at} ({decision})")


def show_journal(name: ModelNameOrParams = "", as_json: JsonLines = False) -> None:
    """Print every decision on NAME, oldest first, after the hash chain is verified."""
    from plumbline.registry import promotion

    name = name or _read_name()
    entries = promotion.read_history(name)
    if as_json:
        for entry in entries:
            print(json.dumps(asdict(entry)))
        return
    if not entries:
        print_plain(f"{name}: the journal has no decision on a model of this name")
    for entry in entries:
        at = entry.at.removesuffix("+00:00").replace("T", " ")
        digests = f"bundle {entry.bundle[:12]}, evidence {entry.evidence[:12]}"
        print_plain(
            f"{entry.number}  {at} UTC  {entry.actor}  {_describe_decision(entry)}  ({digests})"
        )
        print_plain(f"   {entry.reason}")


def _find_trial_needed(name: str) -> str:
    """Which kind of trial params.yaml here asks for, if it is of this model; "" for none."""
    from plumbline.contract.loading import load_params

    registry = load_params(layout.PARAMS).registry if champion_pin.is_checkout() else None
    return (registry.trial or "") if registry and registry.model == name else ""


def _read_name() -> str:
    """Return the model that params.yaml names."""
    from plumbline.contract.loading import load_params

    return load_params(layout.PARAMS).registry.model


def _announce(entry: "Entry") -> None:
    """Print a promotion or a rollback, here and on the page of a GitHub job."""
    change = f"the champion is version {entry.version}, it was {entry.previous}"
    message = f"{entry.model}: {change}; journal entry {entry.number}"
    print_plain(message)
    find_forge().add_summary(f"**{entry.action}**: {message}")
    if champion_pin.is_checkout():
        print_plain(f"{layout.CHAMPION} names it now: {COMPARES}")


def _describe_decision(entry: "Entry") -> str:
    if entry.moves:
        return f"{entry.action} {entry.previous} -> {entry.version}"
    return f"{entry.action} {entry.version}".rstrip()
