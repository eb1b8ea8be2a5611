"""Read single files of a registered version where the registry keeps them: once, with a limit."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPResponse, IncompleteRead
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from plumbline.contract.errors import BundleError, PlumblineError, RegistryError
from plumbline.process.system_errors import explain_system_error, name_path

if TYPE_CHECKING:
    from plumbline.registry.reader.stores import RegistryStore

CHUNK = 1 << 20
# What fsspec may open; it knows many more, and some of them run commands or read archives.
REMOTE = ("s3", "gs", "az", "abfs", "abfss", "hdfs", "http", "https")


class MissingArtifactError(RegistryError):
    """The store answers, and has no such file."""


def fetch_artifact(
    store: "RegistryStore", location: str, name: str, target: Path, limit: int
) -> None:
    """Write `name` (a/b/c) below `location` to the new file `target`.

    MissingArtifactError where it does not exist, RegistryError where it cannot be read or kept,
    BundleError where it is longer than `limit` bytes.
    """
    path = f"{location}/{name}"
    with _explain_failures(path), store.open_artifact(location, name) as source:
        chunks = _read_chunks(source, path, limit)
        with _explain_refusal(target), target.open("xb") as copy:
            copy.writelines(chunks)


def _read_chunks(source: "IO[bytes]", path: str, limit: int) -> Iterator[bytes]:
    with _explain_failures(path):
        while chunk := source.read(CHUNK):
            limit -= len(chunk)
            if limit < 0:
                raise BundleError(
                    f"{path}: longer than such a file may be; do not use this version"
                )
            yield chunk
        if isinstance(source, HTTPResponse) and source.length:
            raise IncompleteRead(b"", source.length)


def open_artifact(location: str, name: str) -> "IO[bytes]":
    """Open a file of a local folder, or of a place that fsspec reads (s3://, gs://, az:// ...)."""
    parts = urlsplit(location)
    if parts.scheme == "mlflow-artifacts":
        raise ValueError(
            "the artifacts are behind a tracking server: "
            "set MLFLOW_TRACKING_URI to its http:// address"
        )
    if parts.scheme not in ("", "file"):
        if parts.scheme not in REMOTE or "::" in location:  # fsspec chains file systems by ::
            raise ValueError(
                f"{parts.scheme}:// is not supported for artifacts; expected a path or one of "
                + ", ".join(REMOTE)
            )
        import fsspec

        return cast("IO[bytes]", fsspec.open(f"{location.rstrip('/')}/{name}", "rb").open())
    if parts.netloc not in ("", "localhost"):
        raise ValueError(f"{location} is on another machine")
    folder = unquote(parts.path) if parts.scheme else location
    return (Path(folder) / name).open("rb")


@contextmanager
def _explain_failures(path: str) -> Iterator[None]:
    try:
        yield
    except PlumblineError:
        raise
    except Exception as error:  # noqa: BLE001  each kind of store raises its own
        message = getattr(error, "strerror", None) or str(error) or type(error).__name__
        is_absent = getattr(error, "code", None) == HTTPStatus.NOT_FOUND
        is_absent = is_absent or isinstance(error, FileNotFoundError)
        kind = MissingArtifactError if is_absent else RegistryError
        raise kind(f"{path}: cannot be fetched ({message.splitlines()[0][:200]})") from None


@contextmanager
def _explain_refusal(target: Path) -> Iterator[None]:
    """Turn what the disk of the copy refuses into a RegistryError about that disk."""
    try:
        yield
    except OSError as error:
        refused = name_path(error, target)
        raise RegistryError(explain_system_error(refused or error)) from None
