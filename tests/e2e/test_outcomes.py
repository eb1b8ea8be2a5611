"""Labels that come back: a real server logs, and the page's command says how right it is."""

import csv
import json
import random
import re
from http.client import HTTPConnection
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.support.checkouts import ROOT, Checkout, make_checkout
from tests.support.serving.lines import Lines, serving

from plumbline.tasks.text_classification.data.generated import draw_ticket

pytestmark = pytest.mark.slow
NUM_REQUESTS = 200
PAGE = ROOT / "docs/how-to/outcomes.md"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout with a champion, its log in `requests`, and labels.csv."""
    made = make_checkout(tmp_path_factory.mktemp("outcomes"))
    text = (made.path / "params.yaml").read_text(encoding="utf-8")
    text = re.sub(r"(?ms)^  minilm:\n.*?(?=^\w)", "", text)
    for old, new in (
        ("floor: 0.80", "floor: 0.50"),
        ("calibration_error: 0.05", "calibration_error: 0.2"),
        ("simple_candidate: linear", "simple_candidate: null"),
        ("num_rows: 4500", "num_rows: 3000"),
    ):
        text = text.replace(old, new)
    (made.path / "params.yaml").write_text(text, encoding="utf-8")
    made.commit("start")
    made.environment["PLUMBLINE_CACHE"] = str(made.path / "cache")
    made.run("dvc", "repro", "--quiet")
    (log,) = re.findall(r"--log-folder (\S+)", PAGE.read_text(encoding="utf-8"))
    with (made.path / "labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("request_id", "label", "channel"))
        writer.writerows(ask(made, made.path / log))
    return made


def ask(made: Checkout, log: Path) -> list[tuple[str, str, str]]:
    """Ask a server that logs; return the ids of its answers with what was right."""
    draw = random.Random(3)
    told = []
    options = ("--log-folder", str(log))
    with serving(Lines(made.path), *options, uri="models:/ticket-router@champion") as server:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=600)
        for _ in range(NUM_REQUESTS):
            ticket = draw_ticket(draw, 0.0)
            body = json.dumps({"inputs": {"text": [ticket.text]}})
            connection.request("POST", "/invocations", body, {"content-type": "application/json"})
            answer = connection.getresponse()
            assert answer.read()
            told.append((str(answer.getheader("x-request-id")), ticket.intent, ticket.channel))
        connection.close()
        assert server.stop() == 0
    return told


def test_what_the_page_types_prints_what_it_shows(served: Checkout) -> None:
    page = PAGE.read_text(encoding="utf-8")
    ((command, shown),) = re.findall(r"(?m)^    \$ (plumbline outcomes .*)\n    (.*)$", page)
    said = served.run(*command.split()).stdout
    digits = re.compile(r"\d+(?:\.\d+)?")
    assert digits.sub("N", said.splitlines()[0]) == digits.sub("N", shown)
    assert "200 have a label (100%)" in said
    assert "worst groups: channel=" in said
    report = served.read_report("outcomes")
    labels = pd.read_csv(served.path / "labels.csv")
    (file,) = (served.path / "requests").glob("requests-*")
    answers = pq.read_table(file).to_pandas()
    joined = labels.merge(answers, on="request_id")
    assert len(joined) == NUM_REQUESTS
    right = (joined["label"] == joined["output.label"]).mean()
    assert report["champion"]["mean"] == pytest.approx(right)
    assert report["champion"]["low"] < right < report["champion"]["high"]
    html = (served.path / "reports/outcomes.html").read_text(encoding="utf-8")
    assert "Who has a label" in html
    assert "http" not in html.replace("http://www.w3.org", "")
    (typed,) = re.findall(r"(?m)^    (plumbline outcomes .* --record)$", page)
    recorded = served.run(*typed.split(), code=32).stdout
    assert "no day with its answers is older than outcomes.mature_days (7) yet" in recorded


def test_labels_of_errors_alone_are_no_verdict_and_wrong_files_are_explained(
    served: Checkout,
) -> None:
    labels = pd.read_csv(served.path / "labels.csv")
    labels.head(20).to_csv(served.path / "few.csv", index=False)
    said = served.run("plumbline", "outcomes", "requests", "few.csv", code=33).stdout
    assert "labels that decide nothing, of rows that chance did not draw" in said
    renamed = labels.rename(columns={"label": "intent"})
    renamed.to_csv(served.path / "renamed.csv", index=False)
    command = ("plumbline", "outcomes", "requests", "renamed.csv")
    assert "no column 'label'" in served.run(*command, code=1).stderr
    told = served.run(*command, "--label", "intent", "--json").stdout
    assert json.loads(told)["champion"]["labelled"] == NUM_REQUESTS
    labels.assign(label=labels["label"].str.upper()).to_csv(served.path / "loud.csv", index=False)
    refused = served.run("plumbline", "outcomes", "requests", "loud.csv", code=1).stderr
    assert "are not written as the model's answers are" in refused
    assert "Traceback" not in refused


def test_a_model_that_became_worse_requests_training(served: Checkout) -> None:
    (file,) = (served.path / "requests").glob("requests-*")
    table = pq.read_table(file)
    days = pd.Timedelta(days=30)
    old = [at - days for at in table.column("at").to_pylist()]
    moved = table.set_column(table.schema.get_field_index("at"), "at", [old])
    (served.path / "old").mkdir()
    pq.write_table(moved, served.path / "old" / file.name)
    labels = pd.read_csv(served.path / "labels.csv")
    labels.assign(label=labels["label"].iloc[0]).to_csv(served.path / "worse.csv", index=False)
    command = ("plumbline", "outcomes", "old", "worse.csv", "--record")
    said = served.run(*command, code=30).stdout
    assert said.startswith("worse: ticket-router version 1: 0.")
    assert "training requested, journal entry" in said
    assert "already requested for these days" in served.run(*command, code=31).stdout
    assert "retrain" in served.run("plumbline", "journal", "ticket-router").stdout
