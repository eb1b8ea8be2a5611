"""Whether anything answers at MLflow's address: an answer, whatever the address is."""

import socket

import pytest

from plumbline.tracking import store_location


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
