"""A registry behind an MLflow tracking server, asked through its documented REST API."""

import base64
import configparser
import json
import os
import ssl
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, cast
from urllib.error import HTTPError
from urllib.parse import quote, unquote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from plumbline.contract.errors import RegistryError
from plumbline.registry import model_versions
from plumbline.registry.model_versions import Address
from plumbline.registry.reader import artifacts
from plumbline.registry.reader.stores import TIMEOUT_S, Version, absent
from plumbline.tracking import mlflow_runs

MAX_ANSWER = 4 << 20  # bytes of JSON
NONE_SUCH = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")  # the latter of an alias


class Server:
    """A registry over HTTP; credentials come from where MLflow takes them and go to this host alone."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._named = (
            f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
        )
        self._base = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")
        self._opener = build_opener(_NoRedirect, HTTPSHandler(context=_tls()))

    def version(self, asked: Address) -> Version:
        """See Store."""
        try:
            return self._version(asked)
        except _NoSuchError:
            raise absent(asked) from None
        except (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError) as error:
            reason = mlflow_runs.first_line(error) or type(error).__name__
            raise RegistryError(
                f"{model_versions.where()} cannot be read ({reason}). Try `plumbline doctor`"
            ) from None

    def open(self, location: str, name: str) -> "IO[bytes]":
        """See Store."""
        parts = urlsplit(location)
        if parts.scheme != "mlflow-artifacts":
            return artifacts.open_file(location, name)
        if parts.netloc not in ("", urlsplit(self._base).netloc):
            raise ValueError("the artifacts are on another host than the registry")
        path = quote(f"{parts.path.strip('/')}/{name}")
        return self._get(f"/api/2.0/mlflow-artifacts/artifacts/{path}")

    def _version(self, asked: Address) -> Version:
        if asked.alias:
            found = self._ask("registered-models/alias", name=asked.name, alias=asked.alias)[
                "model_version"
            ]
        else:
            found = self._ask("model-versions/get", name=asked.name, version=str(asked.version))[
                "model_version"
            ]
        number = str(found["version"])
        package = self._ask("model-versions/get-download-uri", name=asked.name, version=number)[
            "artifact_uri"
        ]
        if package.startswith("models:/"):
            logged = self._ask("logged-models/" + quote(package.removeprefix("models:/"), safe=""))
            package = logged["model"]["info"]["artifact_uri"]
        run = found.get("run_id")
        logs = self._ask("runs/get", run_id=run)["run"]["info"]["artifact_uri"] if run else None
        tags = {str(tag["key"]): str(tag.get("value", "")) for tag in found.get("tags", [])}
        return Version(asked.name, number, tags, package, logs)

    def _ask(self, endpoint: str, **query: str) -> dict[str, Any]:
        try:
            with self._get(f"/api/2.0/mlflow/{endpoint}?{urlencode(query)}") as answer:
                raw = answer.read(MAX_ANSWER + 1)
        except HTTPError as error:
            if _code(error) in NONE_SUCH:
                raise _NoSuchError from None
            raise
        if len(raw) > MAX_ANSWER:
            raise ValueError("an answer of unreasonable length")
        found = json.loads(raw)
        if not isinstance(found, dict):
            raise TypeError("an answer that is no JSON object")
        return found

    def _get(self, path: str) -> "IO[bytes]":
        request = Request(self._base + path, headers=_credentials(self._named))  # noqa: S310  http or https, as find() saw
        return cast("IO[bytes]", self._opener.open(request, timeout=TIMEOUT_S))


class _NoSuchError(Exception):
    """The server knows no such model, alias or version."""


class _NoRedirect(HTTPRedirectHandler):
    """A registry does not send its readers elsewhere, least of all with their credentials."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _code(error: HTTPError) -> str | None:
    """MLflow's name of what went wrong."""
    try:
        with error:
            found = json.loads(error.read(MAX_ANSWER))
        return str(found["error_code"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None


def _credentials(named: str | None) -> dict[str, str]:
    """Those `named` in the address, else a user and password, else a token; from the environment, then from
    ~/.mlflow/credentials: as MLflow does.
    """
    stored: dict[str, str] = {}
    config = configparser.ConfigParser()
    if config.read(Path("~/.mlflow/credentials").expanduser()) and "mlflow" in config:
        stored = dict(config["mlflow"])
    user, password = (
        os.environ.get(key) or stored.get(key.lower())
        for key in ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")
    )
    pair = named or (f"{user}:{password}" if user and password else None)
    if pair:
        return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
    token = os.environ.get("MLFLOW_TRACKING_TOKEN")
    return {"Authorization": f"Bearer {token}"} if token else {}


def _tls() -> ssl.SSLContext:
    """Certificates are always checked: by the system's authorities, or by those of MLFLOW_TRACKING_SERVER_CERT_PATH."""
    ours, theirs = (
        os.environ.get(f"MLFLOW_TRACKING_{side}_CERT_PATH") for side in ("CLIENT", "SERVER")
    )
    try:
        context = ssl.create_default_context(cafile=theirs or None)
        if ours:
            context.load_cert_chain(ours)
    except OSError as error:
        raise RegistryError(
            f"{ours or ''} {theirs or ''}: no certificates can be read there ({error})"
        ) from None
    return context
