"""`plumbline sign`: sign a registered version and its evidence."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated

import typer

from plumbline.terminal.console import print_plain
from plumbline.terminal.options import ModelName, Version

EXAMPLE = "plumbline sign ticket-router 2 --key private.pem"


def sign_version(
    name: ModelName,
    version: Version,
    key: Annotated[
        Path,
        typer.Option(
            help="A PEM file with a private key of an elliptic curve; - reads it from stdin."
        ),
    ],
) -> None:
    """Sign VERSION of NAME and its evidence with a private key.

    Where PLUMBLINE_PUBLIC_KEY is set, only versions that its private key signed are served, and
    only those whose evidence it signed are promoted.
    """
    from plumbline.registry import signing

    with _open_key(key) as path:
        digest = signing.sign(name, version, path)
    print_plain(
        f"{name} version {version}: bundle {digest[:12]} and its evidence are signed with {key}; "
        "the signatures are in the version's run"
    )


@contextmanager
def _open_key(key: Path) -> Iterator[Path]:
    """Yield a file with the key; one that is made for stdin is removed after the block."""
    if str(key) != "-":
        yield key
        return
    with NamedTemporaryFile(prefix="plumbline-") as private:
        private.write(sys.stdin.buffer.read())
        private.flush()
        yield Path(private.name)
