"""The queue of a server is limited in time: a slow model has a short queue, a fast one a long."""

import os
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.serving.full import PING, WHOLE, full, receive, send
from tests.support.serving.lines import MOODY, Lines, serving
from tests.support.serving.moody import GO_FILE, SLOW, WAITS, WAITS_FILE

from plumbline.serving import app
from plumbline.serving.row_speed import RowSpeed

# MLflow, in this process, warns about its own libraries.
pytestmark = pytest.mark.filterwarnings("ignore")
STOP_S = 10  # after which Docker kills what it stops


def test_a_slow_model_has_a_short_queue_and_says_when_to_try_again(lines: Lines) -> None:
    waits, go = lines.folder / WAITS_FILE, lines.folder / GO_FILE
    waits.unlink(missing_ok=True)
    go.unlink(missing_ok=True)
    limits = ("--queue-s", "1.2", "--deadline-s", "120", "--predict-timeout", "120")
    with (
        serving(lines, *limits, uri=f"models:/line/{MOODY}") as server,
        ThreadPoolExecutor(21) as pool,
    ):
        assert server.predict(SLOW)[0] == 200  # half a second a row
        running = pool.submit(server.predict, WAITS)
        server.wait(waits.exists)
        asked = [pool.submit(server.predict, 1.0) for _ in range(20)]
        server.wait(lambda: sum(one.done() for one in asked) >= 11)
        go.touch()
        answers = [one.result() for one in asked]
        refused = [headers for status, headers, _ in answers if status == 429]
        # Eight rows take four seconds, which is more than 1.2; a few may always wait.
        assert 8 <= [status for status, _, _ in answers].count(200) <= 9
        assert len(refused) in (11, 12)
        assert {int(headers["retry-after"]) for headers in refused} <= set(range(4, 121))
        assert running.result()[0] == 200
        server.wait(lambda: server.predict(1.0)[0] == 200)
        assert server.metric("plumbline_queue_seconds_count") >= 3
    waits.unlink()
    go.unlink()


def test_retry_after_is_at_most_the_deadline(lines: Lines) -> None:
    options = ("--queue-s", "0.01", "--deadline-s", "1", "--predict-timeout", "60")
    with (
        serving(lines, *options, uri=f"models:/line/{MOODY}") as server,
        ThreadPoolExecutor(24) as pool,
    ):
        assert server.predict(SLOW)[0] == 200
        asked = [pool.submit(server.predict, SLOW) for _ in range(24)]
        answers = [one.result() for one in asked]
        refused = [headers for status, headers, _ in answers if status == 429]
        assert {headers["retry-after"] for headers in refused} == {"1"}


def test_a_refused_client_is_answered_on_its_connection_when_there_is_room(lines: Lines) -> None:
    with (
        full(lines) as (server, go),
        socket.create_connection(("127.0.0.1", server.port), timeout=600) as connection,
    ):
        connection.sendall(WHOLE)
        assert [got.status for got in receive(connection, 1)] == [429]
        go.touch()
        server.wait(lambda: send(server, WHOLE)[0].status == 200)
        connection.sendall(WHOLE + PING)
        assert [got.status for got in receive(connection, 2)] == [200, 200]


def test_with_a_collector_of_traces_the_application_refuses(lines: Lines) -> None:
    nobody = "http://127.0.0.1:9"
    with full(lines, OTEL_EXPORTER_OTLP_ENDPOINT=nobody) as (server, go):
        assert [got.status for got in send(server, WHOLE + PING, 2)] == [429, 200]
        go.touch()
        assert server.stop() == 0


def test_the_last_traces_and_metrics_delay_the_end_for_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "10")
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TIMEOUT")
    app._configure_telemetry()
    assert 2 * int(os.environ["OTEL_EXPORTER_OTLP_TIMEOUT"]) < STOP_S / 2


def test_the_speed_is_that_of_the_last_second_of_work() -> None:
    speed = RowSpeed()
    for _ in range(100):
        speed.add_call(8, 0.04)
    assert speed.estimate_seconds(100) == pytest.approx(0.5, rel=0.01)
    speed.add_call(1, 0.2)  # a hiccup
    assert speed.estimate_seconds(100) < 0.7
    for _ in range(40):
        speed.add_call(8, 0.16)  # four times slower
    assert speed.estimate_seconds(100) == pytest.approx(2.0, rel=0.1)


def test_a_slow_first_call_limits_nothing() -> None:
    speed = RowSpeed()
    speed.add_call(1, 0.2)
    assert speed.estimate_seconds(256) == 0
    speed.add_call(1, 0.2)
    assert speed.estimate_seconds(256) > 0
