"""Rows with sets of labels through DVC, the gates, the registry, MLflow, files and HTTP."""

import csv
import json
import sys

import pytest
import yaml
from tests.support.checkouts import ROOT, Checkout, make_checkout
from tests.support.serving.lines import serving
from tests.support.tickets import write_set_tickets

pytestmark = pytest.mark.slow

TEXT = "it is please payment charged amount locked account password zaneko baroko romuli rokoba"


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout with a registered model of label sets: a linear one against a small encoder."""
    made = make_checkout(tmp_path_factory.mktemp("tagger"))
    write_set_tickets(made.path / "data/raw/tickets.csv", 2000)
    params = yaml.safe_load((ROOT / "recipes/label_sets.yaml").read_text(encoding="utf-8"))
    del params["candidates"]["minilm"]
    params["candidates"]["transformer"] |= {"hidden": 32, "layers": 1, "heads": 2, "max_epochs": 1}
    del params["data"]["generated"]["max_labels"]
    params["data"]["source"] = "data/raw/tickets.csv"
    params["data"]["columns"] = {
        "text": "body",
        "label": "queues",
        "label_separator": ";",
        "metadata": [],
    }
    params["evaluation"] |= {"slices": [], "max_calibration_error": 0.1}  # few rows
    (made.path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    made.commit("start")
    made.run("dvc", "repro")
    return made


def test_the_gates_pass_and_the_report_shows_each_label(tagger: Checkout) -> None:
    registration = tagger.read_report("registration")
    assert (registration["verdict"], registration["version"]) == ("promote", "1")
    rulings = {gate["name"]: gate["status"] for gate in tagger.read_report("evidence")["gates"]}
    for gate in ("coverage", "answers", "replay", "calibration", "control", "export", "behaviour"):
        assert rulings[gate] == "pass"
    page = (tagger.path / "reports/report.html").read_text(encoding="utf-8")
    assert "the labels of texts ((none): given, and not the text" in page


def test_files_are_scored_with_lists_of_labels(tagger: Checkout) -> None:
    (tagger.path / "in.csv").write_text(f"text\n{TEXT}\n", encoding="utf-8")
    tagger.run("plumbline", "score", "models:/ticket-tagger@champion", "in.csv", "out.csv")
    with (tagger.path / "out.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["label"] == ("|".join(json.loads(row["labels"])) or "(none)")
    scores = json.loads(row["scores"])
    assert row["label"] == "billing|login"
    assert len(scores) == 3
    assert all(0 <= entry["score"] <= 1 for entry in scores)


def test_stock_mlflow_answers_the_same(tagger: Checkout) -> None:
    code = f"""
import mlflow, pandas
model = mlflow.pyfunc.load_model("models:/ticket-tagger@champion")
answer = model.predict(pandas.DataFrame({{"text": [{TEXT!r}]}}))
print(answer["label"][0], list(answer["labels"][0]))
"""
    unwritten = {"PYTHONDONTWRITEBYTECODE": "1"}
    done = tagger.run(
        sys.executable, "-W", "ignore", "-c", code, MLFLOW_TRACKING_URI=tagger.store, **unwritten
    )
    assert done.stdout.strip() == "billing|login ['billing', 'login']"


def test_the_server_answers_with_lists_of_labels(tagger: Checkout) -> None:
    with serving(tagger, uri="models:/ticket-tagger@champion") as server:

        def post(path: str, body: dict) -> dict:
            raw = server.ask("POST", path, json.dumps(body), content_type="application/json")[2]
            answer: dict = json.loads(raw)
            return answer

        body = {"dataframe_records": [{"text": TEXT}], "params": {"top_k": 12}}
        (answer,) = post("/invocations", body)["predictions"]
        assert answer["labels"] == ["billing", "login"]
        assert len(answer["scores"]) == 3
        tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": [TEXT]}
        told = post("/v2/models/ticket-tagger/infer", {"inputs": [tensor]})
        outputs = {each["name"]: each for each in told["outputs"]}
        assert outputs["label"]["data"] == [answer["label"]]
        assert [json.loads(text) for text in outputs["labels"]["data"]] == [answer["labels"]]
