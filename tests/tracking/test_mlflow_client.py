"""The connection to MLflow: where it keeps runs and versions, and a server that starts again."""

from pathlib import Path

import pytest
from mlflow.exceptions import MlflowException
from sqlalchemy import make_url
from tests.support.loopback import Answer, Request, serve_answers

from plumbline.tracking import mlflow_client, store_location

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries


def test_a_server_that_starts_again_is_asked_again_but_for_what_would_be_made_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def refuse_first(request: Request) -> Answer:
        asked.append(request.path)
        return Answer(b"{}", 503 if len(asked) == 1 else 200)

    with serve_answers(refuse_first) as address:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        client = mlflow_client.connect()
        assert client.search_registered_models() == []
        assert len(asked) == 2
        asked.clear()
        with mlflow_client.send_once(), pytest.raises(MlflowException):
            client.search_registered_models()
        assert len(asked) == 1


@pytest.mark.parametrize("ending", ["p%20q/mlflow.db", "p q/mlflow.db?timeout=30"])
def test_another_address_is_read_as_sqlalchemy_does(ending: str) -> None:
    """With `%20`, evaluate compared with no champion, and doctor saw no registry."""
    uri = f"sqlite:////tmp/{ending}"
    assert str(store_location.locate_database(uri)) == make_url(uri).database


@pytest.mark.parametrize("name", ["p q", "100%", "p%20q", "a?b", "a#b", "a+b@c:d", "%zz", "ä;é"])
def test_any_path_of_a_checkout_is_that_of_the_database(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / name)
    uri = store_location.find_uri()
    assert make_url(uri).database == f"{tmp_path / name}/mlruns/mlflow.db"
    assert store_location.locate_database(uri) == tmp_path / name / "mlruns/mlflow.db"
