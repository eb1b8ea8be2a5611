"""`plumbline champion`: which version is champion, and by which decision."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from plumbline.ci import github
from plumbline.contract import layout
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.registry import champion_pin
from plumbline.terminal.console import print_json, print_plain
from plumbline.terminal.options import AsJson, ModelNameOrParams

if TYPE_CHECKING:
    from plumbline.registry.journal import Entry

EXAMPLE = "plumbline champion ticket-router --as-of 2026-11-21T12:09:45"
COMPARES = "commit it; the next `dvc repro` compares with it"


def show_champion(
    name: ModelNameOrParams = "",
    as_of: Annotated[
        str | None,
        typer.Option(
            help="A date or time, ISO 8601, in UTC unless it has an offset.", show_default="now"
        ),
    ] = None,
    pin: Annotated[
        bool,
        typer.Option(
            "--pin", help="Write the champion to champion.json: `dvc repro` compares with it."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print which version is champion of NAME, or was, and which decision made it so."""
    from plumbline.entrypoint import load_params
    from plumbline.registry import promotion

    name = name or load_params(layout.PARAMS).registry.model
    if pin:
        if as_of is not None:
            raise ParamsError("--pin writes the current champion; leave out --as-of")
        pointer = promotion.pin_champion(name)
        pinned = f"version {pointer.version}" if pointer else "has no champion"
        print_plain(f"{layout.CHAMPION}: {name} {pinned}; {COMPARES}")
        return
    entry = promotion.find_champion_as_of(name, as_of)
    if entry is None:
        raise PlumblineError(f"{name}: no champion{' at ' + as_of if as_of else ''}")
    if as_json:
        print_json(asdict(entry))
        return
    decision = f"{entry.action}; entry {entry.number}"
    print_plain(f"{name} version {entry.version}, by {entry.actor} at {entry.at} ({decision})")


def announce_decision(entry: "Entry") -> None:
    """Print a promotion or a rollback, here and on the page of a GitHub job."""
    change = f"the champion is version {entry.version}, it was {entry.previous}"
    message = f"{entry.model}: {change}; journal entry {entry.number}"
    print_plain(message)
    github.add_summary(f"**{entry.action}**: {message}")
    if champion_pin.is_checkout():
        print_plain(f"{layout.CHAMPION} names it now: {COMPARES}")
