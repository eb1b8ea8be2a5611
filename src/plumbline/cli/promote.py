"""`plumbline promote`: make a version the champion."""

from typing import Annotated

import typer

from plumbline.ci import github
from plumbline.cli.champion import announce_decision
from plumbline.terminal.options import ModelName, Reason, Version

EXAMPLE = 'plumbline promote ticket-router 2 --expect 1 --reason "better on refunds"'


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
            help="In GitHub Actions: who asked for the promotion; somebody else must have approved "
            "this run.",
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
        approval = github.describe_approval(asked_by, lineage.get("git_commit", ""))
        reason = f"{reason}; {approval}" if reason else approval
    once = asked_by is not None
    announce_decision(promotion.promote(name, version, expect, reason, override, bundle, once=once))
