"""The log of requests: rows and files that cannot be written do not end it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.support.loopback import wait_until
from tests.support.serving.lines import Lines, serving
from tests.support.serving.models import ROW

from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.serving import metrics
from plumbline.serving.exchange import Exchange
from plumbline.serving.inference_request import InferenceRequest
from plumbline.serving.loaded_model import Answer
from plumbline.serving.log_file import delete_outdated
from plumbline.serving.request_log import FLUSH_BYTES, FLUSH_ROWS, MAX_BYTES, RequestLog
from plumbline.serving.settings import Limits, Settings
from plumbline.sources.request_folder import RequestFolder

REDACTION = """
def drop_some(row):
    x = row["input.x"]
    if x == 1:
        return {}[f"secret {x}"]
    if x == 2:
        return True
    if x == 1.5:
        return row | {"kept.mark": "late"}  # a column that only a later row has
    return None if x == 3 else row
"""
HOLDING = """
import pathlib, time
def hold(row):
    while not pathlib.Path(__file__).with_name("go").exists():
        time.sleep(0.05)
    return row
"""
JSON = "application/json"
CHAMPION = CachedVersion("line", "1", "ab" * 32, "line", Path("bundle"), Path("golden.json"))
ANSWER = Answer({"y": [1.0]}, CHAMPION, "champion", 0.001)
MANY = Answer({"y": [1.0] * FLUSH_ROWS}, CHAMPION, "champion", 0.001)


def read_log(folder: Path) -> list[dict[str, Any]]:
    return [row for file in sorted(folder.iterdir()) for row in pq.read_table(file).to_pylist()]


def test_a_row_that_cannot_be_redacted_is_not_logged_and_the_others_are(
    lines: Lines, tmp_path: Path
) -> None:
    (tmp_path / "redaction.py").write_text(REDACTION)
    options = ("--log-folder", str(tmp_path / "log"), "--redact", "redaction:drop_some")
    with serving(lines, *options, PYTHONPATH=str(tmp_path)) as server:
        server.predict(*range(FLUSH_ROWS))
        server.wait(lambda: server.metric("plumbline_lost_log_rows_total") == 2)
        server.predict(0.5, 1.0, 1.5)
        assert server.stop() == 0
        said = server.log.read_text()
    rows = read_log(tmp_path / "log")
    assert [row["kept.mark"] for row in rows if "kept.mark" in row] == [None, "late"]
    xs = sorted(row["input.x"] for row in rows)
    assert xs == [0.0, 0.5, 1.5, *map(float, range(4, FLUSH_ROWS))]
    assert "--redact failed (KeyError): 2 rows are not logged" in said
    assert "secret" not in said


def test_whole_numbers_of_any_size_are_logged_in_a_column_of_floats(
    wide: Lines, tmp_path: Path
) -> None:
    ratios = [0.5, 2**60, 10**300, 3]
    body = {name: [value] * len(ratios) for name, value in ROW.items()}
    sent = json.dumps({"inputs": body | {"ratio": ratios}})
    log = tmp_path / "log"
    with serving(wide, "--log-folder", str(log), uri="models:/wide@champion") as server:
        status, _, answer = server.ask("POST", "/invocations", sent, content_type=JSON)
        assert status == 200
        assert [row["ratio"] for row in json.loads(answer)["predictions"]] == ratios
        assert server.stop() == 0
        assert "lost" not in server.log.read_text()
    logged = [(row["input.ratio"], row["output.ratio"]) for row in read_log(log)]
    assert logged == [(float(ratio), float(ratio)) for ratio in ratios]


def test_rows_for_which_memory_has_no_room_are_counted_and_left_out(
    wide: Lines, tmp_path: Path
) -> None:
    (tmp_path / "holding.py").write_text(HOLDING)
    options = ("--log-folder", str(tmp_path / "log"), "--redact", "holding:hold")
    row = {name: [value] for name, value in ROW.items()} | {"text": ["x" * 3_000_000]}
    size, count = 6_000_000, 20  # bytes of a row with its answer, which repeats the text
    with serving(wide, *options, uri="models:/wide@champion", PYTHONPATH=str(tmp_path)) as server:
        for _ in range(count):
            sent = json.dumps({"inputs": row})
            assert server.ask("POST", "/invocations", sent, content_type=JSON)[0] == 200
        lost = server.metric("plumbline_lost_log_rows_total")
        assert lost > 0
        assert (count - lost) * size <= MAX_BYTES + FLUSH_BYTES + 2 * size
        (tmp_path / "go").touch()
        assert server.stop() == 0
    assert len(read_log(tmp_path / "log")) == count - lost


def test_a_log_that_gets_a_file_a_minute_holds_thirty_days(tmp_path: Path) -> None:
    now = datetime(2026, 11, 20, tzinfo=UTC)
    minutes = [now - timedelta(minutes=past) for past in range(31 * 24 * 60)]
    for minute in minutes:
        (tmp_path / f"requests-{minute:%Y%m%dT%H%M%S}-a.parquet").touch()
    limits = Limits()
    folder = RequestFolder(str(tmp_path))
    assert not delete_outdated(folder, limits.log_days, limits.log_mb, now)
    assert len(folder.list_names()) == 30 * 24 * 60 + 1


def test_the_oldest_files_go_earlier_where_the_folder_is_too_large(tmp_path: Path) -> None:
    names = [f"requests-2026112{number}T000000-a.parquet" for number in range(1, 6)]
    for name in names:
        (tmp_path / name).write_bytes(b"0" * 1000)
    now = datetime(2026, 11, 25, 1, tzinfo=UTC)
    assert delete_outdated(RequestFolder(str(tmp_path)), 30, 0.003, now)
    assert sorted(file.name for file in tmp_path.iterdir()) == names[2:]
    assert not delete_outdated(RequestFolder(str(tmp_path)), 30, 0.003, now)


def test_files_that_cannot_be_deleted_and_a_small_log_are_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "requests-20240101T000000-a.parquet").mkdir()
    log_some(tmp_path, 1)
    assert "cannot be deleted" in caplog.text
    (tmp_path / "requests-20240101T000000-a.parquet").rmdir()
    log_some(tmp_path, 2 * FLUSH_ROWS, "log_mb=0.001")
    assert caplog.text.count("is kept for less than 30 days") == 1


def log_some(folder: Path, num_rows: int, *limits: str) -> None:
    """Log requests of one row in this process."""
    request_log = RequestLog(Settings("models:/line/1", log_folder=str(folder), limit=[*limits]))
    with request_log.run():
        for number in range(num_rows):
            request = InferenceRequest({"x": [number]}, {})
            request_log.add(Exchange(request, f"id-{number}"), ANSWER)


def test_each_row_is_named_by_request_row_and_bundle(lines: Lines, tmp_path: Path) -> None:
    with serving(lines, "--log-folder", str(tmp_path)) as server:
        bundle = json.loads(server.ask("GET", "/version")[2])["bundle"]
        server.predict(1.0, 2.0, X_Request_Id="a")
        server.predict(3.0, X_Request_Id="a")
        assert server.stop() == 0
    rows = read_log(tmp_path)
    assert [(row["request_id"], row["row"]) for row in rows] == [("a", 0), ("a", 1), ("a", 0)]
    assert {row["bundle"] for row in rows} == {bundle}
    assert {row["shown"] for row in rows} == {True}
    draws = {row["draw"] for row in rows}
    assert len(draws) == len(rows)  # a client that chooses its ids is not drawn by them
    assert all(0 <= draw < 1 for draw in draws)
    assert {row[name] for row in rows for name in ("assigned", "share", "key")} == {None}
    (about,) = read_about(tmp_path)
    assert about == {"writer": about["writer"], "sequence": 0, "lost": {}}


def test_a_redaction_that_drops_what_names_a_row_is_refused(lines: Lines, tmp_path: Path) -> None:
    (tmp_path / "forgetting.py").write_text("def forget(row):\n    del row['draw']\n    return row")
    log = tmp_path / "log"
    options = ("--log-folder", str(log), "--redact", "forgetting:forget")
    with serving(lines, *options, PYTHONPATH=str(tmp_path)) as server:
        server.predict(1.0, 2.0)
        assert server.stop() == 0
        assert "it drops draw, without which no outcome finds the row" in server.log.read_text()
    assert read_log(log) == []
    assert [about["lost"] for about in read_about(log)] == [{"redact": {"champion": 2}}]


def test_rows_that_a_full_disk_loses_are_counted_in_the_next_file(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    request_log = RequestLog(Settings("models:/line/1", log_folder=str(folder)))
    folder.touch()  # nothing can be written there
    with request_log.run():
        request_log.add(Exchange(InferenceRequest({"x": [0] * FLUSH_ROWS}, {}), "a"), MANY)
        lost = f'lost_log_rows_total{{reason="write"}} {FLUSH_ROWS:.1f}'
        wait_until(lambda: lost in metrics.render_metrics().decode(), "the rows are lost")
        folder.unlink()
        folder.mkdir()
        request_log.add(Exchange(InferenceRequest({"x": [0]}, {}), "b"), ANSWER)
    assert [row["request_id"] for row in read_log(folder)] == ["b"]
    (about,) = read_about(folder)
    assert (about["sequence"], about["lost"]) == (0, {"write": {"champion": FLUSH_ROWS}})


def read_about(folder: Path) -> list[dict[str, Any]]:
    """What each file says of itself."""
    found = [pq.read_schema(file).metadata[b"plumbline"] for file in sorted(folder.iterdir())]
    return [json.loads(about) for about in found]
