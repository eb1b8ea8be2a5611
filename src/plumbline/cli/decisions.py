"""Decide on versions, and see what was decided."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from plumbline.ci import github
from plumbline.cli.console import out
from plumbline.contract import layout
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.entrypoint import load_params
from plumbline.registry import champion_pin

if TYPE_CHECKING:
    from plumbline.registry.journal import Entry

COMPARES = "commit it; the next `dvc repro` compares with it"

app = typer.Typer()


@app.command()
def promote(
    name: str,
    version: str,
    expect: Annotated[str, typer.Option(help="The champion you looked at: a version, or none.")],
    reason: Annotated[str, typer.Option(help="Why; it stands in the journal.")] = "",
    override: Annotated[
        bool, typer.Option(help="Whatever its evidence says; takes a --reason.")
    ] = False,
    bundle: Annotated[
        str | None,
        typer.Option(help="The digest of the bundle you looked at: no other is promoted."),
    ] = None,
    asked_by: Annotated[
        str | None,
        typer.Option(
            help="In GitHub Actions: who asked for it; somebody else must have approved this run."
        ),
    ] = None,
) -> None:
    """Make VERSION the champion of NAME, if its evidence says so and the champion still is the expected one."""
    from plumbline.registry import model_versions, promotion

    if asked_by is not None:
        commit = model_versions.resolve(f"models:/{name}/{version}").tags.get(
            "plumbline.git_commit", ""
        )
        reason = "; ".join(filter(None, [reason, github.approval(asked_by, commit)]))
    _decided(
        promotion.promote(
            name, version, expect, reason, override, bundle, once=asked_by is not None
        )
    )


@app.command()
def rollback(
    name: str,
    to: Annotated[
        str | None, typer.Option(help="A version that was champion; the one before if left out.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why; it stands in the journal.")] = "",
    expect: Annotated[
        str | None,
        typer.Option(help="The champion you looked at; whichever there is, if left out."),
    ] = None,
) -> None:
    """Bring back the champion before this one."""
    from plumbline.registry import promotion

    _decided(promotion.rollback(name, to, reason, expect))


@app.command()
def sign(
    name: str,
    version: str,
    key: Annotated[Path, typer.Option(help="A private key of an elliptic curve, as PEM.")],
) -> None:
    """Sign VERSION of NAME: where PLUMBLINE_PUBLIC_KEY is set, only versions signed by its owner are served."""
    from plumbline.registry import signing

    digest = signing.sign(name, version, key)
    out.print(
        f"{name} version {version}: bundle {digest[:12]} is signed with {key}; the signature is in the version's run"
    )


@app.command("journal")
def show_journal(
    name: str, as_json: Annotated[bool, typer.Option("--json", help="One entry a line.")] = False
) -> None:
    """Every decision on NAME, oldest first, once the chain was checked."""
    from plumbline.registry import promotion

    entries = promotion.history(name)
    if as_json:
        for entry in entries:
            print(json.dumps(asdict(entry)))
        return
    table = Table("#", "at (UTC)", "who", "decision", "bundle", "evidence", "reason")
    for entry in entries:
        change = (
            f"{entry.action} {entry.previous} -> {entry.version}"
            if entry.moves
            else f"{entry.action} {entry.version}".rstrip()
        )
        at = entry.at.removesuffix("+00:00").replace("T", " ")
        table.add_row(
            str(entry.number),
            at,
            entry.actor,
            change,
            entry.bundle[:12],
            entry.evidence[:12],
            entry.reason,
        )
    out.print(table, markup=False)


@app.command("champion")
def show_champion(
    name: Annotated[
        str, typer.Argument(help="The registered model; that of params.yaml if left out.")
    ] = "",
    as_of: Annotated[str | None, typer.Option(help="A day or moment, ISO 8601, UTC.")] = None,
    pin: Annotated[
        bool,
        typer.Option("--pin", help="Write it into champion.json: `dvc repro` compares with it."),
    ] = False,
) -> None:
    """Who is champion of NAME, or was, and by which decision."""
    from plumbline.registry import promotion

    name = name or load_params(layout.PARAMS).registry.model
    if pin:
        if as_of:
            raise ParamsError("--pin takes the champion of now; leave out --as-of")
        found = promotion.pin(name)
        out.print(
            f"{layout.CHAMPION}: {name} {f'version {found.version}' if found else 'has no champion'}; {COMPARES}"
        )
        return
    entry = promotion.champion(name, as_of)
    if entry is None:
        raise PlumblineError(f"{name}: no champion{' by ' + as_of if as_of else ''}")
    out.print(
        f"{name} version {entry.version}, by {entry.actor} at {entry.at} ({entry.action}; entry {entry.number})"
    )


def _decided(entry: "Entry") -> None:
    said = f"{entry.model}: the champion is version {entry.version}, it was {entry.previous}; journal entry {entry.number}"
    out.print(said)
    github.summary(f"**{entry.action}**: {said}")
    if champion_pin.belongs_here():
        out.print(f"{layout.CHAMPION} names it now: {COMPARES}")
