"""A registry behind an MLflow tracking server, read through its documented REST API."""

import base64
import configparser
import json
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, cast
from urllib.error import HTTPError
from urllib.parse import quote, unquote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from plumbline.bundle import strict
from plumbline.contract.errors import RegistryError
from plumbline.registry.reader import artifacts
from plumbline.registry.reader.addresses import VersionAddress
from plumbline.registry.reader.stores import (
    TIMEOUT_S,
    RegisteredVersion,
    build_absent_error,
    build_unreadable_error,
)
from plumbline.tracking import store_errors

MAX_RESPONSE = 4 << 20  # bytes of JSON
# MLflow's codes for "there is no such thing"; the latter of an alias.
ABSENT_CODES = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")


class RestStore:
    """A registry over HTTP; credentials are those that MLflow takes, sent to this host alone."""

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        self._userinfo: str | None = None
        if parts.username:
            self._userinfo = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        without_user = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        self._base = without_user.geturl().rstrip("/")
        self._opener = build_opener(_RefuseRedirects, HTTPSHandler(context=_build_tls_context()))

    def find_version(self, address: VersionAddress) -> RegisteredVersion:
        """Find the version at an address; AbsentVersionError where there is none."""
        name = address.name
        with _explain_failures(address):
            if address.alias:
                answer = self._query("registered-models/alias", name=name, alias=address.alias)
            else:
                answer = self._query("model-versions/get", name=name, version=str(address.number))
            version = answer["model_version"]
            number = str(version["version"])
            tags = {str(tag["key"]): str(tag.get("value", "")) for tag in version.get("tags", [])}
            run_id = version.get("run_id") or None
            package, files = self._find_package(name, number), self._find_run_files(run_id)
            return RegisteredVersion(name, number, tags, package, run_id, files)

    def read_model_tag(self, address: VersionAddress, key: str) -> str | None:
        """Read a tag of the model at an address; None where it has no such tag."""
        with _explain_failures(address):
            model = self._query("registered-models/get", name=address.name)["registered_model"]
            tags = {tag["key"]: tag.get("value") for tag in model.get("tags", [])}
            return tags.get(key)

    def tag_version(self, name: str, version: str, key: str, value: str) -> None:
        """Set a tag on a version; OSError where the server does not take it."""
        body = json.dumps({"name": name, "version": version, "key": key, "value": value}).encode()
        self._open("/api/2.0/mlflow/model-versions/set-tag", body).close()

    def open_artifact(self, location: str, name: str) -> "IO[bytes]":
        """Open the file `name` (a/b/c) at a location; OSError or ValueError if it is unreadable."""
        parts = urlsplit(location)
        if parts.scheme != "mlflow-artifacts":
            return artifacts.open_artifact(location, name)
        if parts.netloc not in ("", urlsplit(self._base).netloc):
            raise ValueError("the artifacts are on another host than the registry")
        path = quote(f"{parts.path.strip('/')}/{name}")
        return self._open(f"/api/2.0/mlflow-artifacts/artifacts/{path}")

    def _find_package(self, name: str, number: str) -> str:
        answer = self._query("model-versions/get-download-uri", name=name, version=number)
        location: str = answer["artifact_uri"]
        if location.startswith("models:/"):
            model_id = quote(location.removeprefix("models:/"), safe="")
            location = self._query(f"logged-models/{model_id}")["model"]["info"]["artifact_uri"]
        return location

    def _find_run_files(self, run_id: str | None) -> str | None:
        if run_id is None:
            return None
        try:
            info = self._query("runs/get", run_id=run_id)["run"]["info"]
        except _AbsentError:
            return None
        location: str = info["artifact_uri"]
        return location

    def _query(self, endpoint: str, **query: str) -> dict[str, Any]:
        try:
            with self._open(f"/api/2.0/mlflow/{endpoint}?{urlencode(query)}") as response:
                raw = response.read(MAX_RESPONSE + 1)
        except HTTPError as error:
            if _read_error_code(error) in ABSENT_CODES:
                raise _AbsentError from None
            raise
        if len(raw) > MAX_RESPONSE:
            raise ValueError("the response is too long")
        answer = strict.parse_json(raw)
        if not isinstance(answer, dict):
            raise TypeError("the response is not a JSON object")
        return answer

    def _open(self, path: str, body: bytes | None = None) -> "IO[bytes]":
        """Open the response to a GET, or to a POST of JSON."""
        headers = _build_headers(self._userinfo) | {"Content-Type": "application/json"}
        request = Request(self._base + path, body, headers)  # noqa: S310  http or https, as connect_store() checked
        return cast("IO[bytes]", self._opener.open(request, timeout=TIMEOUT_S))


@contextmanager
def _explain_failures(address: VersionAddress) -> Iterator[None]:
    """Raise RegistryError where a version is absent or the registry's response is not valid."""
    try:
        yield
    except _AbsentError:
        raise build_absent_error(address) from None
    except (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = store_errors.shorten_error(error) or type(error).__name__
        raise build_unreadable_error(address, reason) from None


class _AbsentError(Exception):
    """The server knows no such model, alias, version, logged model or run."""


class _RefuseRedirects(HTTPRedirectHandler):
    """A registry does not send its readers elsewhere, least of all with their credentials."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _read_error_code(error: HTTPError) -> str | None:
    """MLflow's name of what went wrong."""
    try:
        with error:
            answer = strict.parse_json(error.read(MAX_RESPONSE))
        return str(answer["error_code"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None


def _build_headers(userinfo: str | None) -> dict[str, str]:
    """Credentials of the address, else a user and password, else a token.

    They are taken as MLflow does: from the environment, then from ~/.mlflow/credentials.
    """
    pair = userinfo or _read_user_and_password()
    if pair:
        return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
    token = os.environ.get("MLFLOW_TRACKING_TOKEN")
    if token:
        return {"Authorization": f"Bearer {token}"}
    return {}


def _read_user_and_password() -> str | None:
    stored: dict[str, str] = {}
    config = configparser.ConfigParser()
    if config.read(Path("~/.mlflow/credentials").expanduser()) and "mlflow" in config:
        stored = dict(config["mlflow"])
    user_key, password_key = "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"
    user = os.environ.get(user_key) or stored.get(user_key.lower())
    password = os.environ.get(password_key) or stored.get(password_key.lower())
    return f"{user}:{password}" if user and password else None


def _build_tls_context() -> ssl.SSLContext:
    """Certificates are always checked.

    By the system's authorities, or by those of MLFLOW_TRACKING_SERVER_CERT_PATH.
    """
    client = os.environ.get("MLFLOW_TRACKING_CLIENT_CERT_PATH")
    server = os.environ.get("MLFLOW_TRACKING_SERVER_CERT_PATH")
    try:
        context = ssl.create_default_context(cafile=server or None)
        if client:
            context.load_cert_chain(client)
    except OSError as error:
        raise RegistryError(
            f"{client or ''} {server or ''}: the certificates cannot be read ({error})"
        ) from None
    return context
