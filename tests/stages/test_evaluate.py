"""Evaluate scores every candidate of params on the same examples, tells a verdict and never fails for a bad result."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from plumbline import bundle, layout, report
from plumbline.contract import Task
from plumbline.entrypoint import load_task
from plumbline.errors import ParamsError, PlumblineError
from plumbline.params import load_yaml
from plumbline.stages.evaluate import evaluate
from plumbline.tasks.text_classification.params import TextParams

ROOT = Path(__file__).parents[2]
INTENTS = {
    "refund": "money back please",
    "login": "cannot sign in",
    "delivery": "parcel is late",
    "invoice": "send the bill",
}
PREDICTOR = '''
"""Knows one word of each class; a share of the texts, picked by their digits, is answered wrongly on purpose."""
import json

class Words:
    def __init__(self, words, wrong_every, temperature):
        self.words, self.wrong_every, self.temperature = words, wrong_every, temperature

    def predict(self, columns, top_k=3, threshold=0.0):
        rows = [self.row(text)[:top_k] for text in columns["text"]]
        scores = [row[0]["score"] for row in rows]
        return {"label": [row[0]["label"] for row in rows], "score": scores, "scores": rows,
                "abstained": [score < threshold for score in scores]}

    def row(self, text):
        names = list(self.words)
        best = next((i for i, word in enumerate(self.words.values()) if word in text.lower()), 0)
        number = int("".join(filter(str.isdigit, text)) or 1)
        best = (best + (number % self.wrong_every == 0)) % len(names)
        rest = 0.15 / (len(names) - 1)
        row = [{"label": n, "score": 0.85 if i == best else rest} for i, n in enumerate(names)]
        return sorted(row, key=lambda entry: -entry["score"])

def load(folder):
    return Words(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
'''


@pytest.fixture
def task(tmp_path: Path) -> Task:
    code = tmp_path / "predictor.py"
    code.write_text(PREDICTOR)
    return dataclasses.replace(load_task("text_classification"), predictor=code)


@pytest.fixture
def params() -> TextParams:
    values = load_yaml(ROOT / "params.yaml")
    linear = values["candidates"]["linear"]
    values["candidates"] = {"good": linear, "fair": linear}
    values["data"]["source"] = "data/raw/tickets.csv"
    values["evaluation"] |= {"floor": 0.8, "min_gain_over_baseline": 0.1, "slices": ["channel"], "min_slice_rows": 20}
    return TextParams.model_validate(values)


@pytest.fixture
def checkout(tmp_path: Path, task: Task, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as train leaves it: examples, manifest, accepted, two bundles and that of a removed candidate."""
    monkeypatch.chdir(tmp_path)
    layout.EXAMPLES.mkdir(parents=True)
    layout.PARAMS.write_bytes((ROOT / "params.yaml").read_bytes())
    rows = []
    for number, split in enumerate(np.repeat(["train", "validation", "test"], [120, 80, 200])):
        label = list(INTENTS)[number % 4]
        text = f"{INTENTS[label]}, order {number}"
        rows.append((f"r{number}", split, text, label, ["mail", "chat", "fax"][number % 3 if number % 50 else 2]))
    table = pd.DataFrame(rows, columns=["id", "split", "text", "label", "channel"])
    for split, part in table.groupby("split"):
        part.drop(columns="split").to_parquet(layout.EXAMPLES / f"{split}.parquet", index=False)
    table.assign(length=10, digest=table["id"]).drop(columns="text").to_parquet(layout.MANIFEST, index=False)
    layout.write_json(layout.VALIDATION, {"accepted": True, "manifest": layout.digest(layout.MANIFEST)})
    for name, wrong_every in {"good": 20, "fair": 5, "removed": 10_000}.items():
        add_bundle(task, name, wrong_every)
    return tmp_path


def add_bundle(task: Task, name: str, wrong_every: int) -> None:
    folder = layout.bundle(name)
    folder.mkdir(parents=True, exist_ok=True)
    words = {label: text.split()[0] for label, text in INTENTS.items()}
    layout.write_json(folder / "config.json", {"words": words, "wrong_every": wrong_every, "temperature": 1.3})
    bundle.seal(folder, task, name)


def test_a_sound_winner_is_promoted_with_all_that_register_needs(
    checkout: Path, params: TextParams, task: Task
) -> None:
    evaluate(params, task)
    evidence = layout.read_json(layout.EVIDENCE)
    assert (evidence["verdict"], evidence["winner"]) == ("promote", "good")
    assert evidence["ranking"] == ["good", "fair"]  # best first, and nothing of the removed one
    assert {gate["name"]: gate["status"] for gate in evidence["gates"]} == {
        "accepted": "pass",
        "coverage": "pass",
        "baselines": "pass",
        "bounds": "not-applicable",
        "floor": "pass",
    }
    assert evidence["digests"]["bundle"] == bundle.digest(layout.bundle("good"))
    assert evidence["digests"]["manifest"] == layout.digest(layout.MANIFEST)
    assert evidence["digests"]["golden"] == layout.digest(layout.GOLDEN)
    assert [case["num_cases"] for case in evidence["behaviour"]] == [200, 200, 200, 4, 12]
    metrics = layout.read_json(layout.METRICS)
    assert metrics["test"]["accuracy"] == pytest.approx(0.95)
    assert metrics["test_interval"]["low"] < 0.95 < metrics["test_interval"]["high"]
    assert metrics["candidates"]["fair"]["test"]["accuracy"] == pytest.approx(0.8)


def test_golden_rows_are_what_the_winner_answers(checkout: Path, params: TextParams, task: Task) -> None:
    evaluate(params, task)
    golden = layout.read_json(layout.GOLDEN)
    predictor = bundle.load(layout.bundle("good"))
    assert len(golden["inputs"]["text"]) == 32
    assert predictor.predict(golden["inputs"], **golden["params"]) == golden["outputs"]


def test_every_prediction_is_kept_with_its_id(checkout: Path, params: TextParams, task: Task) -> None:
    evaluate(params, task)
    kept = pd.read_parquet(layout.PREDICTIONS)
    counts = kept.groupby(["candidate", "split"]).size().to_dict()
    assert counts == {
        ("good", "validation"): 80, ("good", "test"): 200, ("fair", "validation"): 80, ("fair", "test"): 200,
        ("majority", "test"): 200, ("stratified", "test"): 200,
    }  # fmt: skip
    joined = kept.merge(pd.read_parquet(layout.MANIFEST), on=["id", "split"])
    assert len(joined) == len(kept)
    assert (joined["actual"] == joined["label"]).all()


def test_slices_have_enough_rows(checkout: Path, params: TextParams, task: Task) -> None:
    evaluate(params, task)
    found = layout.read_json(layout.EVIDENCE)["slices"]
    assert {(s["column"], s["value"]) for s in found} == {("channel", "mail"), ("channel", "chat"), ("channel", "fax")}
    assert sum(s["num_rows"] for s in found) == 200


def test_dvc_gets_plots_and_no_stale_ones(checkout: Path, params: TextParams, task: Task) -> None:
    layout.PLOTS.mkdir(parents=True)
    (layout.PLOTS / "stale.csv").write_text("old")
    evaluate(params, task)
    names = {path.name for path in layout.PLOTS.iterdir()}
    assert {"confusion.csv", "reliability.csv", "per_class.csv", "confusion.svg", "cost.svg"} <= names
    assert "stale.csv" not in names
    assert list(pd.read_csv(layout.PLOTS / "confusion.csv").columns) == ["actual", "predicted"]
    assert not list(Path("reports").glob(".*"))


def test_metrics_are_equal_in_every_run(checkout: Path, params: TextParams, task: Task) -> None:
    evaluate(params, task)
    first = layout.METRICS.read_bytes(), layout.PREDICTIONS.read_bytes(), layout.GOLDEN.read_bytes()
    evaluate(params, task)
    assert first == (layout.METRICS.read_bytes(), layout.PREDICTIONS.read_bytes(), layout.GOLDEN.read_bytes())


def test_a_bad_result_is_a_refusal_on_record_and_no_error(
    checkout: Path, params: TextParams, task: Task, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("good", "fair"):
        add_bundle(task, name, 2)
    evaluate(params, task)
    evidence = layout.read_json(layout.EVIDENCE)
    assert evidence["verdict"] == "refuse"
    assert [gate["name"] for gate in evidence["gates"] if gate["status"] == "fail"] == ["floor"]
    report.show(Console())
    said = capsys.readouterr().out
    assert "must not be promoted" in said
    assert "floor" in said
    assert "reports/report.html" in said


def test_the_leaderboard_shows_all_and_marks_the_winner(
    checkout: Path, params: TextParams, task: Task, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    evaluate(params, task)
    report.show(Console())
    said = capsys.readouterr().out
    assert "* good" in said
    assert all(word in said for word in ("fair", "majority", "stratified", "macro F1", "NLL", "ECE", "0.9500"))
    assert said.index("good") < said.index("fair") < said.index("majority")


def test_data_that_was_not_validated_is_refused(checkout: Path, params: TextParams, task: Task) -> None:
    layout.write_json(layout.VALIDATION, {"accepted": True, "manifest": "another"})
    evaluate(params, task)
    assert "accepted must" not in layout.read_json(layout.EVIDENCE)["summary"]
    failed = [gate["name"] for gate in layout.read_json(layout.EVIDENCE)["gates"] if gate["status"] == "fail"]
    assert failed == ["accepted"]


def test_a_damaged_bundle_stops_with_its_name_and_leaves_what_was_there(
    checkout: Path, params: TextParams, task: Task
) -> None:
    evaluate(params, task)
    before = layout.EVIDENCE.read_bytes()
    (layout.bundle("fair") / "config.json").write_text(json.dumps({"words": {}}))
    with pytest.raises(PlumblineError, match=r"models/fair/config\.json: changed since"):
        evaluate(params, task)
    assert layout.EVIDENCE.read_bytes() == before


def test_examples_of_another_ingest_are_noticed(checkout: Path, params: TextParams, task: Task) -> None:
    manifest = pd.read_parquet(layout.MANIFEST)
    manifest.loc[manifest["split"] == "test", "id"] += "x"
    manifest.to_parquet(layout.MANIFEST, index=False)
    with pytest.raises(PlumblineError, match=r"not those in data/manifest\.parquet"):
        evaluate(params, task)


def test_an_unknown_slice_is_named_before_anything_is_scored(checkout: Path, params: TextParams, task: Task) -> None:
    wrong = params.evaluation.model_copy(update={"slices": ["chanel"]})
    with pytest.raises(ParamsError, match=r"no column chanel \(did you mean channel\?\)"):
        evaluate(params.model_copy(update={"evaluation": wrong}), task)
    assert not layout.METRICS.exists()
