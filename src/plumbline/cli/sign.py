"""`plumbline sign`: sign a registered version and its evidence."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from plumbline.contract.errors import ParamsError
from plumbline.terminal.console import print_plain
from plumbline.terminal.options import ModelName, Version

EXAMPLE = "plumbline sign ticket-router 2 --key private.pem"


def sign_version(
    name: ModelName,
    version: Version,
    key: Annotated[
        Path | None,
        typer.Option(
            help="A PEM file with a private key of an elliptic curve.",
            show_default="none: --key-variable holds the key",
        ),
    ] = None,
    key_variable: Annotated[
        str | None,
        typer.Option(
            help="The environment variable that holds the key itself, as in a workflow.",
            show_default="none: --key names a file",
        ),
    ] = None,
) -> None:
    """Sign VERSION of NAME and its evidence with a private key.

    Where PLUMBLINE_PUBLIC_KEY is set, only versions that its private key signed are served, and
    only those whose evidence it signed are promoted.
    """
    from plumbline.registry import signing

    with _open_key(key, key_variable) as path:
        digest = signing.sign(name, version, path)
    print_plain(
        f"{name} version {version}: bundle {digest[:12]} and its evidence are signed with "
        f"{key or key_variable}; the signatures are in the version's run"
    )


@contextmanager
def _open_key(key: Path | None, variable: str | None) -> Iterator[Path]:
    """Yield a file with the key; a file that is made for it is removed after the block."""
    if (key is None) == (variable is None):
        raise ParamsError("name the private key by --key or by --key-variable, one of them")
    if key is not None:
        yield key
        return
    text = os.environ.get(variable or "", "")
    if not text.strip():
        raise ParamsError(f"--key-variable {variable}: this environment variable holds no key")
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        path = Path(private) / "key.pem"
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
        yield path
