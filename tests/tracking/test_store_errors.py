"""Errors of stores, as one line."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.faulty_proxy import run_proxy
from tests.support.loopback import Answer, Request, serve_answers

from plumbline.contract.errors import RegistryError
from plumbline.registry import journal, local_files, model_versions
from plumbline.registry.reader.addresses import parse_address
from plumbline.registry.reader.stores import connect_store
from plumbline.tracking.mlflow_client import send_once

REMEDY = "another process writes to it, or was stopped while it did; wait for that process, or end"


@pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries
def test_who_finds_a_locked_database_learns_what_to_do(
    mlflow_database: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUMBLINE_JOURNAL_URI", f"sqlite:///{mlflow_database}?timeout=0.1")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{mlflow_database}?timeout=0.1")
    with closing(sqlite3.connect(mlflow_database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(RegistryError, match=REMEDY):
            model_versions.connect_registry()
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{mlflow_database}")
        monkeypatch.setattr(local_files, "TIMEOUT_S", 0.1)
        with pytest.raises(RegistryError, match=REMEDY):
            connect_store().find_version(parse_address("models:/line/1"))
        with pytest.raises(RegistryError, match=REMEDY), journal.lock_journal():
            pass


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("broken", "the server answers 500"),
        ("lost", "the connection ended before an answer"),
        ("silent", "no answer in time"),
        ("limited", "the server answers 429: it limits requests"),  # and says to wait for an hour
    ],
)
def test_a_request_that_was_given_up_is_said_in_plain_words(
    fault: str, words: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with run_proxy("http://127.0.0.1:9") as proxy:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", proxy.address)
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0")
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
        proxy.fail_at(1, fault, lasts=True)
        with pytest.raises(RegistryError) as refused:
            model_versions.connect_registry()
    assert f"{proxy.address}/api/2.0/mlflow/registered-models/search: {words}" in str(refused.value)
    assert caplog.records == []


@pytest.mark.slow
def test_a_server_on_a_busy_machine_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer_late(_: Request) -> Answer:
        time.sleep(12)
        return Answer(b'{"registered_model": {"name": "line"}, "registered_models": []}')

    with serve_answers(answer_late) as address:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        with send_once():
            model_versions.connect_registry()
        assert connect_store().read_model_tag(parse_address("models:/line/1"), "any") is None
