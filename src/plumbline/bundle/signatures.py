"""Signatures of bundles by a key, in the form of OpenSSF Model Signing: who vouches for one, besides what it is."""

from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.contract.errors import BundleError, ParamsError

if TYPE_CHECKING:
    from model_signing.hashing import Config

NAME = "bundle.sig"  # beside a version, among what its run keeps
MAX_BYTES = 1 << 20


def write(folder: Path, key: Path, target: Path) -> None:
    """Sign every file of the bundle in `folder` with the private `key` (PEM, elliptic curve); else ParamsError."""
    hashing = _hashing()
    from model_signing import signing

    try:
        config = signing.Config()  # type: ignore[no-untyped-call]
        config = config.use_elliptic_key_signer(private_key=key).set_hashing_config(hashing)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ParamsError(
            f"{key}: is no private key of an elliptic curve, without a password ({_said(error)})"
        ) from None
    config.sign(folder, target)


def check(folder: Path, signature: Path, public_key: Path, called: Path | None = None) -> None:
    """BundleError where `signature` is not one of every file in `folder` by the owner of `public_key`.

    The folder is `called` so in errors. ParamsError where the public key is none.
    """
    called, hashing = called or folder, _hashing()
    from model_signing import verifying

    if not signature.is_file():
        raise BundleError(
            f"{called}: is not signed, and only what {public_key} signed may be used here"
        )
    try:
        config = (
            verifying.Config()  # type: ignore[no-untyped-call]
            .use_elliptic_key_verifier(public_key=public_key)
            .set_hashing_config(hashing)
        )
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ParamsError(
            f"{public_key}: is no public key of an elliptic curve ({_said(error)})"
        ) from None
    try:
        config.verify(folder, signature)
    except Exception as error:  # of a signature that is anything at all
        raise BundleError(
            f"{called}: has no valid signature by {public_key} ({_said(error)}); do not use it"
        ) from error


def _hashing() -> "Config":
    try:
        from model_signing import hashing
    except ModuleNotFoundError as error:
        raise ParamsError(
            f"signatures need the package {error.name}; install plumbline's extra `signing`"
        ) from None
    return hashing.Config().use_file_serialization(hashing_algorithm="sha256", allow_symlinks=False)  # type: ignore[no-untyped-call]


def _said(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:120] or type(error).__name__
