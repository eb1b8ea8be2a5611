"""`plumbline drift` on a real registry: a log of the real server, files, labels, the journal."""

import json
import random
import re
import sqlite3
import time
from contextlib import closing
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from tests.support.checkouts import Checkout, make_checkout
from tests.support.serving.lines import Lines, serving

from plumbline.contract.task import SPLITS
from plumbline.tables.split_files import read_split
from plumbline.tasks.text_classification.data.generated import draw_ticket

pytestmark = pytest.mark.slow
NUM_ROWS = 300


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout whose champion is the linear candidate."""
    made = make_checkout(tmp_path_factory.mktemp("drift"))
    text = (made.path / "params.yaml").read_text(encoding="utf-8")
    text = re.sub(r"(?ms)^  minilm:\n.*?(?=^\w)", "", text)
    text = (
        text.replace("floor: 0.80", "floor: 0.50")
        .replace("calibration_error: 0.05", "calibration_error: 0.2")
        .replace("simple_candidate: linear", "simple_candidate: null")
    )
    (made.path / "params.yaml").write_text(
        text.replace("num_rows: 4500", "num_rows: 3000"), encoding="utf-8"
    )
    made.commit("start")
    made.environment["PLUMBLINE_CACHE"] = str(made.path / "cache")
    made.run("dvc", "repro", "--quiet")
    return made


def rows(seed: int, later: float) -> list[dict[str, str]]:
    draw = random.Random(seed)
    drawn = [draw_ticket(draw, later) for _ in range(NUM_ROWS)]
    return [{"text": one.text, "label": one.intent, "channel": one.channel} for one in drawn]


def write(path: Path, table: list[dict[str, str]]) -> str:
    pd.DataFrame(table).to_csv(path, index=False)
    return str(path)


def test_a_file_like_before_and_one_of_a_later_world(trained: Checkout, tmp_path: Path) -> None:
    said = trained.run("plumbline", "drift", write(tmp_path / "same.csv", rows(1, 0.0))).stdout
    assert said.startswith("stable: none of ")
    said = trained.run(
        "plumbline", "drift", write(tmp_path / "later.csv", rows(2, 0.8)), code=30
    ).stdout
    assert "input.text (wording)" in said
    assert "output.label (errors)" in said  # the labels came along
    told = trained.read_report("drift")
    assert told["rows"]["current"]["num_rows"] == NUM_ROWS
    page = (trained.path / "reports/drift.html").read_text()
    assert "Least like before" in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_requests_are_logged_looked_at_recorded_and_training_is_asked_for_once(
    trained: Checkout, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    look = ("plumbline", "drift", str(log), "--record")
    serve_and_ask(trained, log, rows(3, 0.0))
    assert trained.run(*look).stdout.startswith("stable")
    serve_and_ask(trained, log, rows(4, 1.0))
    assert "1 of the last 2 windows drifted, training needs 2" in trained.run(*look, code=31).stdout
    assert "too few rows: 0 rows" in trained.run(*look, code=32).stdout  # nothing came since
    serve_and_ask(trained, log, rows(5, 1.0))
    assert trained.run(*look, code=30).stdout.startswith("drift: ")
    serve_and_ask(trained, log, rows(6, 1.0))
    assert "training was requested 1 times within a day" in trained.run(*look, code=31).stdout
    actions = re.findall(
        r"\b(drift|retrain)\b +(?:│|\|)? ?",
        trained.run("plumbline", "journal", "ticket-router").stdout,
    )
    assert actions.count("retrain") == 1
    with closing(sqlite3.connect(trained.path / "mlruns/journal.db")) as journal:
        query = "SELECT reason, at FROM plumbline_journal WHERE action = 'drift'"
        checks = [
            (re.fullmatch(r".*; rows of ([0-9a-f]{12}) read at (\S+)", reason), at)
            for reason, at in journal.execute(query)
        ]
    assert len(checks) == 4
    assert all(read is not None and read[2] <= at for read, at in checks)
    assert len({read and read[1] for read, _ in checks}) == 1


def serve_and_ask(trained: Checkout, log: Path, asked: list[dict[str, str]]) -> None:
    with serving(
        Lines(trained.path), "--log-folder", str(log), uri="models:/ticket-router@champion"
    ) as server:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=600)
        for start in range(0, len(asked), 50):
            body = json.dumps(
                {"inputs": {"text": [row["text"] for row in asked[start : start + 50]]}}
            )
            connection.request("POST", "/invocations", body, {"content-type": "application/json"})
            assert connection.getresponse().read()
        connection.close()
        assert server.stop() == 0
    time.sleep(1)  # the names of the files tell their second


def test_labels_of_requests_become_training_rows_and_never_chosen_test_rows(
    trained: Checkout, tmp_path: Path
) -> None:
    """Log, draw, label, export and train: the report counts what came of outcomes."""
    log, sheet, raw = tmp_path / "log", tmp_path / "sheet.csv", trained.path / "data/labelled"
    asked = rows(7, 0.0)
    serve_and_ask(trained, log, asked)
    for file in log.glob("*.parquet"):  # sheets are of whole days
        logged = pq.read_table(file)
        days = pa.array([at - timedelta(days=1) for at in logged["at"].to_pylist()])
        number = logged.schema.get_field_index("at")
        pq.write_table(logged.set_column(number, "at", days), file)
    params = trained.path / "params.yaml"
    text = params.read_text(encoding="utf-8")
    text = re.sub(r"(?m)^card:", "outcomes: {sample: 0.5}\ncard:", text)
    text = text.replace("source: generated ", "source: data/labelled/* ")
    text = text.replace("watch: data/raw ", "watch: data/labelled ")
    params.write_text(text.replace("channel, product, variant, day", ""), encoding="utf-8")
    text = re.sub(r"slices: \[.*\]", "slices: []", params.read_text(encoding="utf-8"))
    params.write_text(text, encoding="utf-8")
    raw.mkdir()
    known = [read_split(trained.path / "data/examples", each, ["text", "label"]) for each in SPLITS]
    csv.write_csv(pa.concat_tables(known), raw / "own.csv")

    said = trained.run("plumbline", "outcomes", "draw", str(log), "--out", str(sheet)).stdout
    drawn = pd.read_csv(sheet, dtype=str)
    assert f"{len(drawn)} rows to label: " in said
    right = {row["text"]: row["label"] for row in asked}
    drawn["label"] = drawn["text"].map(right)
    drawn.to_csv(sheet, index=False)
    looked = trained.run("plumbline", "outcomes", str(log), str(sheet), code=32).stdout
    assert "drawn rows" in looked
    said = trained.run(
        "plumbline", "outcomes", "export", str(log), str(sheet), "--out", "data/labelled"
    ).stdout
    assert f"{len(drawn)} training rows in data/labelled" in said
    trained.run("dvc", "repro", "--quiet", "evaluate", code=None)  # whatever its verdict

    manifest = pd.read_parquet(trained.path / "data/manifest.parquet")
    chosen = set(manifest.loc[manifest["id"].str.contains("outcomes-chosen"), "digest"])
    assert chosen
    assert chosen.isdisjoint(manifest.loc[manifest["split"] != "train", "digest"])
    assert manifest["id"].str.contains("outcomes-uniform").any()
    gates = {gate["name"]: gate["status"] for gate in trained.read_report("evidence")["gates"]}
    assert gates["leakage"] == "pass"
    page = (trained.path / "reports/report.html").read_text(encoding="utf-8")
    found = re.search(r"(\d+) of [\d,]+ train rows from outcomes, 0 of [\d,]+ test rows", page)
    assert found
    assert int(found[1]) >= len(chosen)
