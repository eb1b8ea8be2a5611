"""The registry read without MLflow says what MLflow says, and asks nobody it should not ask."""

import base64
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.loopback import Answer, Request, serve_answers
from tests.support.mlflow_server import run_mlflow_server
from tests.support.postgres import started
from tests.support.racing import NAME, add_version, find_in_mlflow, make_first_champion

from plumbline import bundle
from plumbline.contract.errors import AbsentVersionError, BundleError, JournalError, RegistryError
from plumbline.process.files import digest_path
from plumbline.registry import model_versions
from plumbline.registry.reader import addresses, artifacts, database, rest, stores
from plumbline.registry.reader.verified_cache import VerifiedModelCache

VARIABLES = (
    "MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME",
    "MLFLOW_TRACKING_PASSWORD",
    "PLUMBLINE_JOURNAL_URI", "PLUMBLINE_PUBLIC_KEY",
)  # fmt: skip


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder as the cwd, with its own cache, and no address or credentials given."""
    for key in VARIABLES:
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("PLUMBLINE_CACHE", str(folder / "cache"))
    monkeypatch.setenv("HOME", str(folder))
    return folder


def asked(which: str) -> addresses.VersionAddress:
    return addresses.parse_address(f"models:/{NAME}{which}")


def refuses_what_is_not_there(store: stores.RegistryStore) -> None:
    for which, reason in (
        ("@challenger", "no version has the alias challenger"),
        ("/7", "there is no version 7"),
    ):
        with pytest.raises(AbsentVersionError, match=f"models:/{NAME}{which}: {reason} in "):
            store.find_version(asked(which))
    with pytest.raises(
        AbsentVersionError, match="models:/nobody@champion: no version has the alias champion"
    ):
        store.find_version(addresses.parse_address("models:/nobody@champion"))


def says_what_mlflow_says(store: stores.RegistryStore, folder: Path) -> None:
    """Name, number, tags, and the same bytes of the package and of the run."""
    for which in ("@champion", "/1", "/2"):
        theirs, ours = find_in_mlflow(f"models:/{NAME}{which}"), store.find_version(asked(which))
        assert (ours.name, ours.number, ours.tags) == (
            theirs.name,
            str(theirs.version),
            theirs.tags,
        )
        for place, name in (
            (ours.package, "artifacts/bundle/bundle.json"),
            (ours.run_files, "evidence.json"),
        ):
            assert place is not None
            target = folder / f"{ours.number}{which[0] == '@'}{Path(name).name}"
            artifacts.fetch_artifact(store, place, name, target, 10_000)
            digest = ours.tags[
                addresses.EVIDENCE_TAG if name == "evidence.json" else addresses.BUNDLE_TAG
            ]
            assert digest == digest_path(target)
    model = model_versions.connect_registry().get_registered_model(NAME)
    tag = store.read_model_tag(asked("@champion"), "plumbline.journal")
    assert tag == model.tags["plumbline.journal"]
    assert store.read_model_tag(asked("@champion"), "no such tag") is None
    with pytest.raises(artifacts.MissingArtifactError, match=r"nothing\.json: cannot be fetched"):
        artifacts.fetch_artifact(store, ours.package, "artifacts/nothing.json", folder / "none", 10)
    with pytest.raises(BundleError, match="longer than such a file may be"):
        artifacts.fetch_artifact(store, ours.package, "MLmodel", folder / "part", 10)


def test_sqlite(here: Path) -> None:
    for slope in (1, 2):
        add_version(here, slope)
    make_first_champion("2")
    before = (here / "mlruns/mlflow.db").read_bytes()
    store = stores.connect_store()
    says_what_mlflow_says(store, here)
    refuses_what_is_not_there(store)
    assert (here / "mlruns/mlflow.db").read_bytes() == before
    model_versions.connect_registry().delete_model_version(NAME, "1")
    with pytest.raises(RegistryError, match="there is no version 1"):
        store.find_version(asked("/1"))


def test_a_database_that_is_not_there_is_not_made(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        RegistryError, match=r"mlflow\.db cannot be read \(unable to open database file\)"
    ):
        stores.connect_store().find_version(asked("/1"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{here}/a?b#c%20.db")
    with pytest.raises(RegistryError, match="cannot be read"):
        stores.connect_store().find_version(asked("/1"))
    assert not list(here.iterdir())


@pytest.mark.parametrize(
    "address", ["mysql://me:secret@host/db", "file:///tmp", "sqlite:///:memory:"]
)
def test_other_registries_are_reported_without_password(
    address: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    with pytest.raises(RegistryError, match="plumbline reads a registry") as refused:
        stores.connect_store()
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("mlflow-artifacts:/1/models", "set MLFLOW_TRACKING_URI to its http:// address"),
        ("file://elsewhere/models", "is on another machine"),
        ("nowhere://bucket/models", "nowhere:// is not supported for artifacts; expected a path"),
        ("simplecache::file:///etc", "simplecache:// is not supported for artifacts"),
        ("models\0", "cannot be fetched"),
    ],
)
def test_artifacts_that_cannot_be_reached_are_reported(
    location: str, reason: str, here: Path
) -> None:
    store = database.DatabaseStore("sqlite:///x.db")
    with pytest.raises(RegistryError, match=reason):
        artifacts.fetch_artifact(store, location, "MLmodel", here / "target", 10)


@contextmanager
def answering(*answers: tuple[int, dict[str, str], bytes]) -> Iterator[tuple[str, list[Any]]]:
    """An HTTP server that gives these answers in turn, then the last one; and the requests."""
    requests: list[Any] = []

    def answer(request: Request) -> Answer:
        requests.append((request.path, request.headers.get("authorization")))
        status, headers, body = answers[min(len(requests), len(answers)) - 1]
        return Answer(body, status, headers)

    with serve_answers(answer) as address:
        yield address, requests


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("given", "stored", "expected"),
    [
        ({}, "", None),
        ({"MLFLOW_TRACKING_TOKEN": "t0k"}, "", "Bearer t0k"),
        ({"MLFLOW_TRACKING_USERNAME": "me", "MLFLOW_TRACKING_PASSWORD": "pw"}, "", basic("me:pw")),
        ({"MLFLOW_TRACKING_TOKEN": "t0k"}, "me:pw", basic("me:pw")),
    ],
)
def test_credentials_are_those_that_mlflow_sends(
    given: dict[str, str],
    stored: str,
    expected: str | None,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mlflow.utils.credentials import get_default_host_creds
    from mlflow.utils.rest_utils import http_request

    for key, value in given.items():
        monkeypatch.setenv(key, value)
    if stored:
        (here / ".mlflow").mkdir()
        user, password = stored.split(":")
        told = (
            f"[mlflow]\nmlflow_tracking_username = {user}\nmlflow_tracking_password = {password}\n"
        )
        (here / ".mlflow/credentials").write_text(told)
    with answering((404, {}, b'{"error_code": "RESOURCE_DOES_NOT_EXIST"}')) as (address, requests):
        with pytest.raises(RegistryError, match="there is no version 1"):
            rest.RestStore(address).find_version(asked("/1"))
        http_request(
            get_default_host_creds(address),
            "/api/2.0/theirs",
            "GET",
            raise_on_status=False,
            max_retries=0,
        )
    assert [told for _, told in requests] == [expected, expected]


def test_a_password_in_the_address_is_sent_and_not_shown(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering((500, {}, b"")) as (address, requests):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address.replace("://", "://me:se%40cret@"))
        with pytest.raises(RegistryError, match="http://127") as refused:
            stores.connect_store().find_version(asked("/1"))
    assert "cret" not in str(refused.value)
    assert requests[0][1] == basic("me:se@cret")


def test_no_redirect_is_followed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0k")
    with (
        answering((200, {}, b"{}")) as (other, asked_there),
        answering((302, {"Location": other}, b"")) as (address, _),
    ):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        with pytest.raises(RegistryError, match=r"cannot be read \(HTTP Error 302"):
            stores.connect_store().find_version(asked("/1"))
        with pytest.raises(RegistryError, match="cannot be fetched"):
            artifacts.fetch_artifact(
                rest.RestStore(address), "mlflow-artifacts:/1", "MLmodel", here / "target", 10
            )
    assert asked_there == []


def test_artifacts_of_another_host_are_not_asked_for(here: Path) -> None:
    with answering((200, {}, b"{}")) as (address, requests):
        location = "mlflow-artifacts://elsewhere.example/1/models"
        with pytest.raises(RegistryError, match="on another host"):
            artifacts.fetch_artifact(
                rest.RestStore(address), location, "MLmodel", here / "target", 10
            )
    assert requests == []


@pytest.mark.parametrize(
    "answer",
    [
        (500, {}, b"<html>"),
        (200, {}, b'{"model_version": []}'),
        (200, {}, b"[" * (5 << 20)),
        (200, {}, b"[" * 100_000),
        (200, {"Content-Length": "1000"}, b"{"),
    ],
    ids=lambda answer: f"{answer[0]} {answer[2][:5]!r}",
)
def test_answers_that_are_none_are_reported(
    answer: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(answer) as (address, _):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        with pytest.raises(RegistryError, match=f"{address} cannot be read") as refused:
            stores.connect_store().find_version(asked("/1"))
    assert len(str(refused.value)) < 400


def test_a_server_that_is_silent_is_not_waited_for_without_end(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "TIMEOUT_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(RegistryError, match="cannot be read"):
            stores.connect_store().find_version(asked("/1"))


def is_read_as_mlflow_reads_it(here: Path) -> None:
    """Of two versions, the first champion, the store says what MLflow says; of others nothing."""
    for slope in (1, 2):
        add_version(here, slope)
    make_first_champion("1")
    store = stores.connect_store()
    says_what_mlflow_says(store, here)
    refuses_what_is_not_there(store)


@pytest.mark.slow
@pytest.mark.service
def test_a_tracking_server(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real server that keeps the artifacts."""
    with run_mlflow_server(here, f"sqlite:///{here}/server.db") as address:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        monkeypatch.setenv("PLUMBLINE_JOURNAL_URI", f"sqlite:///{here}/journal.db")
        is_read_as_mlflow_reads_it(here)
        copy = VerifiedModelCache(f"models:/{NAME}@champion").fetch_latest()
        assert bundle.load(copy.folder).predict({"x": [1.0]}) == {"y": [1.0]}
        model_versions.connect_registry().set_registered_model_alias(NAME, "champion", "2")
        with pytest.raises(JournalError, match="version 2 is champion, the journal"):
            VerifiedModelCache(f"models:/{NAME}@champion").fetch_latest()
        monkeypatch.delenv("PLUMBLINE_JOURNAL_URI")
        mirror = VerifiedModelCache(f"models:/{NAME}@champion")
        mirror.keep(mirror.fetch_latest())  # no journal is named: the alias is believed
    assert json.loads(copy.golden.read_text())["outputs"] == {"y": [1]}
    with pytest.raises(RegistryError, match="cannot be read"):
        VerifiedModelCache(f"models:/{NAME}@champion").fetch_latest()
    found = VerifiedModelCache(f"models:/{NAME}@champion").find_kept()
    assert found.version == "2"


@pytest.mark.slow
@pytest.mark.service
def test_postgresql(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with started() as server:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
        is_read_as_mlflow_reads_it(here)
        mirror = VerifiedModelCache(f"models:/{NAME}@champion")
        copy = mirror.fetch_latest()
        mirror.keep(copy)
        server.stop()
        with pytest.raises(RegistryError, match="cannot be read"):
            mirror.fetch_latest()
        assert mirror.find_kept() == copy


@pytest.mark.parametrize("password", ["hun/ter2", "hun@ter2"])
def test_the_address_of_a_registry_is_shown_without_its_password(
    password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"postgresql://me:{password}@db:5432/mlflow")
    assert addresses.describe_registry() == "postgresql://db:5432/mlflow"
