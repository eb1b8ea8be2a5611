"""Sign bundles with a key, in the form of OpenSSF Model Signing: who vouches for one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from plumbline.contract.errors import BundleError, ParamsError

if TYPE_CHECKING:
    from model_signing.hashing import Config

NAME = "bundle.sig"  # beside a version, among what its run keeps
MAX_BYTES = 1 << 20


def find_key(variable: Literal["PLUMBLINE_PRIVATE_KEY", "PLUMBLINE_PUBLIC_KEY"]) -> Path | None:
    """The PEM file that a variable of the environment names, or None.

    `register` signs with the private key; only what the owner of the public one signed is used.
    ParamsError where the variable is empty: that would sign or check nothing, without a word.
    """
    path = os.environ.get(variable)
    if path is None:
        return None
    if not path.strip():
        raise ParamsError(f"{variable} is empty: name a PEM file, or unset it to use no signatures")
    return Path(path)


def write_signature(folder: Path, key: Path, target: Path) -> None:
    """Sign every file of the bundle in `folder` with the private `key`.

    The key is PEM, of an elliptic curve, without a password; else ParamsError.
    """
    _configure_signing(key).sign(folder, target)


def check_private_key(key: Path) -> None:
    """Raise ParamsError where `write_signature` could not use the private `key`."""
    _configure_signing(key)


def check_public_key(public_key: Path) -> None:
    """Raise ParamsError where `verify_signature` could not use the `public_key`."""
    _configure_verifying(public_key)


def verify_signature(
    folder: Path, signature: Path, public_key: Path, label: Path | None = None
) -> None:
    """BundleError where the owner of `public_key` did not sign every file in `folder`.

    In errors the folder is called `label`. ParamsError where the public key cannot be used.
    """
    label = label or folder
    if not signature.is_file():
        raise BundleError(
            f"{label}: is not signed, and only what {public_key} signed may be used here"
        )
    config = _configure_verifying(public_key)
    try:
        config.verify(folder, signature)
    except Exception as error:  # of a signature that is anything at all
        raise BundleError(
            f"{label}: has no valid signature by {public_key} ({_shorten(error)}); do not use it"
        ) from error


def _configure_signing(key: Path) -> Any:
    hashing = _configure_hashing()
    from model_signing import signing

    problem = f"{key}: not a valid private key of an elliptic curve, without a password"
    with _explain_failures(problem):
        config = signing.Config()  # type: ignore[no-untyped-call]  # model_signing has no types
        return config.use_elliptic_key_signer(private_key=key).set_hashing_config(hashing)


def _configure_verifying(public_key: Path) -> Any:
    hashing = _configure_hashing()
    from model_signing import verifying

    with _explain_failures(f"{public_key}: not a valid public key of an elliptic curve"):
        config = verifying.Config()  # type: ignore[no-untyped-call]  # model_signing has no types
        config = config.use_elliptic_key_verifier(public_key=public_key)
        return config.set_hashing_config(hashing)


@contextmanager
def _explain_failures(problem: str) -> Iterator[None]:
    """Raise ParamsError with `problem` for what the library raises of a key."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  of a key that is anything at all
        raise ParamsError(f"{problem} ({_shorten(error)})") from None


def _configure_hashing() -> "Config":
    try:
        from model_signing import hashing
    except ModuleNotFoundError as error:
        raise ParamsError(
            f"signatures need the package {error.name}; install plumbline's extra `signing`"
        ) from None
    config = hashing.Config()  # type: ignore[no-untyped-call]  # model_signing has no types
    return config.use_file_serialization(hashing_algorithm="sha256", allow_symlinks=False)


def _shorten(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    return lines[0][:120] or type(error).__name__
