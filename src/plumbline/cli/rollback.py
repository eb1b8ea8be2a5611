"""`plumbline rollback`: bring back an earlier champion."""

from typing import Annotated

import typer

from plumbline.cli.champion import announce_decision
from plumbline.terminal.options import ModelName, Reason

EXAMPLE = 'plumbline rollback ticket-router --reason "worse on refunds"'


def roll_back(
    name: ModelName,
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
) -> None:
    """Bring back an earlier champion of NAME, by default the one before."""
    from plumbline.registry import promotion

    announce_decision(promotion.roll_back(name, to, reason, expect))
