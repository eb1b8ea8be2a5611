"""`plumbline sign`: sign a registered version."""

from pathlib import Path
from typing import Annotated

import typer

from plumbline.cli.console import print_plain
from plumbline.cli.options import ModelName, Version

EXAMPLE = "plumbline sign ticket-router 2 --key private.pem"


def sign_version(
    name: ModelName,
    version: Version,
    key: Annotated[Path, typer.Option(help="A PEM file with a private key of an elliptic curve.")],
) -> None:
    """Sign VERSION of NAME with a private key.

    Where PLUMBLINE_PUBLIC_KEY is set, only versions that its private key signed are served.
    """
    from plumbline.registry import signing

    digest = signing.sign(name, version, key)
    print_plain(
        f"{name} version {version}: bundle {digest[:12]} is signed with {key}; "
        "the signature is in the version's run"
    )
