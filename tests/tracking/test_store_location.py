"""Where MLflow keeps runs and versions, and whether anything answers there."""

import socket
from pathlib import Path

import pytest
from sqlalchemy import make_url

from plumbline.contract.errors import RegistryError
from plumbline.registry import journal, local_files
from plumbline.tracking import mlflow_client, store_location


def ask(address: str, monkeypatch: pytest.MonkeyPatch) -> str | None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    return store_location.find_problem()


@pytest.mark.parametrize(
    "address",
    ["http://mlflow..example:5000", f"http://{'m' * 64}.example:5000", "http://mlflow:port"],
)
def test_an_address_that_no_server_can_have(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "MLFLOW_TRACKING_URI is not a valid address" in str(ask(address, monkeypatch))


def test_the_port_is_that_of_the_address_or_of_its_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "create_connection", refuse)
    for address, place in {
        "postgresql+psycopg2://ada:x@db:9/mlflow": "db:9",
        "postgresql+psycopg2://ada:x@db/mlflow": "db:5432",
        "http://tracking": "tracking:80",
        "mysql://ada:x@db:9/mlflow": "db:9",
    }.items():
        assert ask(address, monkeypatch) == f"{place} is unreachable: Connection refused"
    # MLflow knows the port of such a database, and says itself what it could not reach.
    assert ask("mysql://ada:x@db/mlflow", monkeypatch) is None


@pytest.mark.parametrize(("name", "found"), [("p%20q", "%20"), ("a?b", "?"), ("a%3fb", "%3f")])
def test_a_checkout_whose_database_would_be_elsewhere_is_refused(
    name: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLAlchemy reads %20 in an address as a space, and ends the file's name at a question mark.

    The database of the checkout `p%20q` would be that of `p q` beside it.
    """
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("PLUMBLINE_JOURNAL_URI", raising=False)
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / name)
    for open_store in (
        store_location.find_uri,
        journal.find_journal_uri,
        local_files.require_local_models,  # before `plumbline run` runs a stage
        mlflow_client.connect,
    ):
        with pytest.raises(RegistryError) as caught:
            open_store()
        said = str(caught.value)
        assert said.startswith(f"{tmp_path / name}/mlruns/mlflow.db: its path holds {found!r}")
        assert said.endswith("choose a path for the checkout that has no % and no ?")
    assert [path.name for path in tmp_path.rglob("*")] == [name]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mlflow:5000")
    assert store_location.find_uri() == "http://mlflow:5000"


@pytest.mark.parametrize("ending", ["p%20q/mlflow.db", "p q/mlflow.db?timeout=30"])
def test_another_address_is_read_as_sqlalchemy_does(ending: str) -> None:
    """With `%20`, evaluate compared with no champion, and doctor saw no registry."""
    uri = f"sqlite:////tmp/{ending}"
    assert str(store_location.locate_database(uri)) == make_url(uri).database


@pytest.mark.parametrize("name", ["p q", "100%", "a#b", "a+b@c:d", "%zz", "ä;é"])
def test_any_other_path_is_that_of_the_database(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / name)
    read = make_url(store_location.find_uri()).database
    assert read == f"{tmp_path / name}/mlruns/mlflow.db"
