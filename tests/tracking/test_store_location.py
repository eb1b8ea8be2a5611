"""Why nothing answers at MLflow's address, in one line, whatever the address is."""

import pytest

from plumbline.tracking.store_location import find_problem


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("http://127.0.0.1:9", "127.0.0.1:9 is unreachable: Connection refused"),
        ("http://mlflow..example:5000", "mlflow..example is not a valid name of a host"),
        (f"http://{'a' * 64}:5000", "is not a valid name of a host"),
        ("http://[::1", "MLFLOW_TRACKING_URI is not a valid address"),
        ("postgresql+psycopg2://me:a/b@127.0.0.1:9/x", "127.0.0.1:9 is unreachable"),
        ("mysql+pymysql://me:a/b@127.0.0.1:9/x", "127.0.0.1:9 is unreachable"),
    ],
)
def test_a_store_that_cannot_be_reached_is_named(
    uri: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    found = str(find_problem())
    assert problem in found
    assert "me:a/b" not in found


@pytest.mark.parametrize(
    "uri", ["sqlite:////tmp/mlflow.db", "mysql://me:a@127.0.0.1/x", "mssql+pyodbc://me:a@store/x"]
)
def test_a_database_whose_port_is_not_known_is_not_asked(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert find_problem() is None
