"""Where MLflow keeps runs and versions."""

from pathlib import Path

import pytest
from sqlalchemy import make_url

from plumbline.tracking import store_location


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
