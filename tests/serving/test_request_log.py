"""The log of requests: rows and files that cannot be written do not end it."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.support.serving.lines import Lines, serving
from tests.support.serving.models import ROW

from plumbline.serving.request_log import (
    FLUSH_BYTES,
    FLUSH_ROWS,
    FLUSH_S,
    MAX_BYTES,
    delete_outdated,
)
from plumbline.sources.request_folder import RequestFolder

REDACTION = """
import os
import time
from pathlib import Path

def drop_some(row):
    x = row["input.x"]
    if x == 1:
        return {}[f"secret {x}"]
    if x == 2:
        return True
    if x == 1.5:
        return row | {"kept.mark": "late"}  # a column that only a later row has
    return None if x == 3 else row

def hold(row):
    folder = Path(os.environ["HELD"])
    (folder / "begun").touch()
    while not (folder / "go").exists():
        time.sleep(0.05)
    return row

def spoil(row):
    x = row["input.x"]
    return row if x < 0 else {1: "no name"}
"""
JSON = "application/json"


def read_log(folder: Path) -> list[dict[str, Any]]:
    return [row for file in sorted(folder.iterdir()) for row in pq.read_table(file).to_pylist()]


def choose_redaction(folder: Path, name: str) -> tuple[str, ...]:
    """The options of a server that logs to `log` beside the module with these functions."""
    (folder / "redaction.py").write_text(REDACTION)
    return "--log-folder", str(folder / "log"), "--redact", f"redaction:{name}"


def test_a_row_that_cannot_be_redacted_is_not_logged_and_the_others_are(
    lines: Lines, tmp_path: Path
) -> None:
    options = choose_redaction(tmp_path, "drop_some")
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


def test_rows_that_no_file_can_hold_are_lost_and_later_ones_are_logged(
    lines: Lines, tmp_path: Path
) -> None:
    options = choose_redaction(tmp_path, "spoil")
    with serving(lines, *options, PYTHONPATH=str(tmp_path)) as server:
        server.predict(*range(FLUSH_ROWS))
        server.wait(lambda: server.metric("plumbline_lost_log_rows_total") == FLUSH_ROWS)
        server.predict(-1.0)
        assert server.stop() == 0
        said = server.log.read_text()
    assert [row["input.x"] for row in read_log(tmp_path / "log")] == [-1.0]
    assert f"cannot be written (TypeError): {FLUSH_ROWS} rows are lost" in said


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


def test_long_texts_are_written_soon_and_do_not_wait_without_end(
    wide: Lines, tmp_path: Path
) -> None:
    """With an emoji in it each character of a text takes 4 bytes, and again in the answer."""
    text = "a" * 1_000_000 + "\N{SLIGHTLY SMILING FACE}"
    body = json.dumps({"inputs": {name: [v] for name, v in (ROW | {"text": text}).items()}})
    num_due, num_most = (limit // (8 * len(text)) + 1 for limit in (FLUSH_BYTES, MAX_BYTES))
    options = choose_redaction(tmp_path, "hold")
    environment = {"PYTHONPATH": str(tmp_path), "HELD": str(tmp_path)}
    with serving(wide, *options, uri="models:/wide@champion", **environment) as server:

        def send_text() -> float:
            assert server.ask("POST", "/invocations", body, content_type=JSON)[0] == 200
            return server.metric('plumbline_lost_log_rows_total{reason="full"}')

        try:
            for _ in range(num_due):
                assert send_text() == 0
            server.wait((tmp_path / "begun").exists, FLUSH_S / 2)  # not by time
            num_lost = [send_text() for _ in range(num_most + 1)][-1]
        finally:
            (tmp_path / "go").touch()
        assert server.stop() == 0
    assert num_lost > 0
    assert len(read_log(tmp_path / "log")) == num_due + num_most + 1 - num_lost


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
