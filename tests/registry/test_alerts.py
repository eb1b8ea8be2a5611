"""An alert is a tag that a server of MLflow sends on; without one the journal is the record."""

import hashlib
import hmac
import json
import logging
from base64 import b64decode, b64encode
from pathlib import Path
from queue import Queue

import pytest
from tests.support.loopback import START_S, Answer, Request, serve_answers
from tests.support.mlflow_server import run_mlflow_server
from tests.support.racing import NAME, add_version, make_first_champion

from plumbline.registry import model_versions, promotion
from plumbline.registry.alerts import ALERT_TAG, MAX_TEXT, send_alert
from plumbline.registry.journal import Entry

SIGNED_WITH = "what both know"


def record(reason: str) -> Entry:
    """Ask for training, as drift does."""
    champion = promotion.find_champion(NAME)
    digest = hashlib.sha256(reason.encode()).hexdigest()
    return promotion.record_finding(
        NAME, "retrain", champion.version, champion.bundle, digest, reason
    )


def sign(request: Request) -> bytes:
    """The signature that MLflow documents: over id, time and body."""
    parts = [request.headers[f"x-mlflow-{name}"] for name in ("delivery-id", "timestamp")]
    signed = ".".join([*parts, request.body.decode()])
    return hmac.new(SIGNED_WITH.encode(), signed.encode(), hashlib.sha256).digest()


@pytest.mark.slow
@pytest.mark.service
def test_a_server_of_mlflow_sends_the_tag_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    received: Queue[Request] = Queue()

    def receive(request: Request) -> Answer:
        received.put(request)
        return Answer()

    # Of a receiver that is private and has no certificate: MLflow refuses those by default.
    monkeypatch.setenv("MLFLOW_WEBHOOK_ALLOWED_SCHEMES", "http,https")
    monkeypatch.setenv("MLFLOW_WEBHOOK_ALLOW_PRIVATE_IPS", "true")
    monkeypatch.setenv("MLFLOW_WEBHOOK_SECRET_ENCRYPTION_KEY", b64encode(bytes(32)).decode())
    monkeypatch.setenv("PLUMBLINE_JOURNAL_URI", f"sqlite:///{folder}/journal.db")
    with run_mlflow_server(folder, f"sqlite:///{folder}/server.db") as address:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        make_first_champion(add_version(folder, 1))
        client = model_versions.connect_registry()
        entry = record("2 of 5 tests show drift")
        with serve_answers(receive) as receiver:
            client.create_webhook("alerts", receiver, ["model_version_tag.set"], secret=SIGNED_WITH)
            send_alert(entry, "drift")
            request = received.get(timeout=START_S)
        send_alert(entry, "again")  # the receiver is gone
        assert client.get_model_version(NAME, "1").tags[ALERT_TAG].startswith("again: 2 of 5")
        assert not caplog.records
    send_alert(entry, "drift")  # the server too
    assert received.empty()
    told = json.loads(request.body)["data"]
    assert (told["name"], told["version"], told["key"]) == (NAME, "1", ALERT_TAG)
    assert told["value"] == f"drift: 2 of 5 tests show drift; journal entry {entry.number}"
    version, _, signature = request.headers["x-mlflow-signature"].partition(",")
    assert (version, b64decode(signature)) == ("v1", sign(request))
    assert f"no alert of journal entry {entry.number} was sent" in caplog.text


def test_without_a_server_the_entry_is_there_and_nothing_is_sent(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_first_champion(add_version(folder, 1))
    entry = record("2 of 5 tests show drift")
    with caplog.at_level(logging.WARNING):
        send_alert(entry, "drift")
    assert promotion.read_history(NAME)[-1] == entry
    assert ALERT_TAG not in model_versions.connect_registry().get_model_version(NAME, "1").tags
    assert not caplog.records


def test_a_long_reason_is_cut_and_the_number_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_first_champion(add_version(folder, 1))
    entry = record("x" * 2 * MAX_TEXT)
    received: list[Request] = []

    def receive(request: Request) -> Answer:
        received.append(request)
        return Answer(b"{}")

    with serve_answers(receive) as address:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        send_alert(entry, "drift")
    value = json.loads(received[0].body)["value"]
    assert len(value) == MAX_TEXT
    assert value.endswith(f"x; journal entry {entry.number}")
