"""The log of requests: rows and files that cannot be written do not end it."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.support.serving.lines import Lines, serving
from tests.support.serving.models import ROW

from plumbline.serving.request_log import FLUSH_BYTES, FLUSH_ROWS, MAX_BYTES, delete_outdated
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


def test_old_files_are_deleted_and_one_that_cannot_be_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"requests-2025010{number}T000000-a.parquet" for number in range(1, 6)]
    for name in names:
        (tmp_path / name).touch()
    delete_outdated(RequestFolder(str(tmp_path)), 3)
    assert sorted(file.name for file in tmp_path.iterdir()) == names[2:]
    (tmp_path / "requests-20240101T000000-a.parquet").mkdir()
    delete_outdated(RequestFolder(str(tmp_path)), 3)
    assert "cannot be deleted" in caplog.text
