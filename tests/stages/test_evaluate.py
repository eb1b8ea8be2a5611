"""Evaluate scores every candidate on the same examples; a bad result is a verdict, not an error."""

import contextlib
import dataclasses
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from tests.support.example_rows import read_rows, write_rows

from plumbline import bundle
from plumbline.contract import experiment, layout, steps
from plumbline.contract.errors import (
    DataError,
    EvidenceError,
    JournalError,
    ParamsError,
    PlumblineError,
    RegistryError,
)
from plumbline.contract.loading import load_task
from plumbline.contract.params import Groups
from plumbline.contract.task import SPLITS, Task
from plumbline.contract.trainings import locate_hardware, name_candidate
from plumbline.contract.yaml_file import load_yaml
from plumbline.evidence import document, gates
from plumbline.evidence.gather import gather
from plumbline.evidence.kept import restore
from plumbline.evidence.verify import require_look, verify_evidence
from plumbline.process.files import digest_path, read_json, write_json
from plumbline.quality import runner
from plumbline.quality.suite import build_suite
from plumbline.registry import champion_pin, promotion
from plumbline.reporting import summary
from plumbline.stages.evaluate import evaluate
from plumbline.stages.register import register
from plumbline.tasks.text_classification.params import TextParams

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # MLflow, in this process, warns about its own libraries
TRAINED_WITH = {
    "cpu": "Some CPU", "instruction_set": "AVX512", "threads": 8,
    "device": "cpu", "precision": "bf16", "processes": 1,
}  # fmt: skip
INTENTS = {
    "refund": "money back please",
    "login": "cannot sign in",
    "delivery": "parcel is late",
    "invoice": "send the bill",
}
PREDICTOR = '''
"""Knows one word of each class; some texts, picked by their digits, get a wrong answer."""
import json

class Words:
    def __init__(self, words, wrong_every, temperature, forms):
        self.words, self.wrong_every = words, wrong_every
        self.temperature, self.forms = temperature, forms

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

def load(folder, form=None):
    told = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    wrong_every = told.pop("wrong_every")
    forms = sorted(wrong_every, reverse=True)  # int8 before fp32
    return Words(wrong_every=wrong_every[form or forms[0]], forms=forms, **told)
'''


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    code = tmp_path_factory.mktemp("code") / "predictor.py"
    code.write_text(PREDICTOR)
    refused = {"another column": {"body": ["where is my parcel"]}}
    return dataclasses.replace(
        load_task("text_classification"), predictor=code, requirements=(), faulty=refused
    )


def build_params() -> TextParams:
    values = load_yaml(ROOT / "recipes/text_classification.yaml")
    linear = values["candidates"]["linear"]
    values["candidates"] = {"good": linear, "fair": linear}
    values["control"]["candidates"] = ["fair"]
    values["data"]["source"] = "data/raw/tickets.csv"
    values["data"]["columns"]["metadata"] = ["channel"]
    values["evaluation"] |= {"slices": ["channel"], "min_slice_rows": 20, "simple_candidate": None}
    values["evaluation"] |= {
        "max_calibration_error": 0.2,
        "floor": 0.6,
        "max_detectable_difference": 0.2,
        "max_leakage": {"exact": 0.0, "near": 1.0, "group": 0.0},
    }
    values["evaluation"]["min_behaviour"] = dict.fromkeys(
        ("invariance", "direction", "minimum"), 0.0
    )  # it knows one word
    return TextParams.model_validate(values)


PARAMS = build_params()


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory, task: Task) -> Path:
    """A folder as train and control leave it: accepted data, a removed candidate's bundle too."""
    root = tmp_path_factory.mktemp("ground")
    with contextlib.chdir(root):
        layout.EXAMPLES.mkdir(parents=True)
        layout.PARAMS.write_bytes((ROOT / "recipes/text_classification.yaml").read_bytes())
        rows = []
        for number, split in enumerate(np.repeat(["train", "validation", "test"], [120, 80, 200])):
            label = list(INTENTS)[number % 4]
            text = f"{INTENTS[label]}, order {number}"
            channel = ["mail", "chat", "fax"][number % 3 if number % 50 else 2]
            rows.append((f"r{number}", split, text, label, channel))
        table = pd.DataFrame(rows, columns=["id", "split", "text", "label", "channel"])
        for split, part in table.groupby("split"):
            write_rows(layout.EXAMPLES, split, part.drop(columns="split"))
        checks = build_suite(PARAMS, task, table)
        suite = runner.digest_suite(checks)
        results = [
            {"name": check.name, "severity": check.severity, "passed": True} for check in checks
        ]
        write_json(layout.VALIDATION, {"accepted": True, "suite": suite, "checks": results})
        renew_manifest(task)
        for name, wrong_every in {"good": 20, "fair": 5, "removed": 10_000}.items():
            add_bundle(task, name, wrong_every)
        add_bundle(task, layout.name_control("fair"), 1)
        write_json(locate_hardware("good"), TRAINED_WITH)
    return root


@pytest.fixture(scope="module")
def evaluated(ground: Path, tmp_path_factory: pytest.TempPathFactory, task: Task) -> Path:
    """The ground once evaluate went over it; tests read here and change nothing.

    Where there is no champion, nothing waits seconds for the import of MLflow.
    """
    folder = tmp_path_factory.mktemp("evaluated") / "here"
    shutil.copytree(ground, folder)
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        patch.setitem(sys.modules, "mlflow", None)  # importing it is an error
        layout.PLOTS.mkdir(parents=True)
        (layout.PLOTS / "stale.csv").write_text("old")
        evaluate(PARAMS, task)
    return folder


@pytest.fixture
def here(evaluated: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(evaluated)
    return evaluated


@pytest.fixture
def checkout(evaluated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to plant something in."""
    shutil.copytree(evaluated, tmp_path / "checkout")
    monkeypatch.chdir(tmp_path / "checkout")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path / "checkout"


def add_bundle(
    task: Task, name: str, wrong_every: int, refund_is: str = "refund", **others: int
) -> None:
    folder = layout.locate_bundle(name)
    folder.mkdir(parents=True, exist_ok=True)
    words = {label: text.split()[0] for label, text in INTENTS.items()}
    words[refund_is] = words.pop("refund")
    write_json(
        folder / "config.json",
        {"words": words, "wrong_every": others | {"fp32": wrong_every}, "temperature": 1.3},
    )
    bundle.seal(folder, task, name_candidate(name))


def add_seeds(task: Task, params: TextParams, *wrong_every: int) -> TextParams:
    """Train the candidate `good` with a seed for each number, from the seed of params on."""
    for seed, number in enumerate(wrong_every, params.seed):
        name = "good" if seed == params.seed else f"good.seeds/{seed}"
        add_bundle(task, name, number)
    config = params.candidates["good"].model_copy(update={"seeds": len(wrong_every)})
    return params.model_copy(update={"candidates": {**params.candidates, "good": config}})


def renew_manifest(task: Task) -> None:
    """Write the manifest of the examples as they are now; validation accepts them."""
    tables = [
        pd.concat(task.data.list_rows(layout.EXAMPLES, name)).assign(split=name) for name in SPLITS
    ]
    pd.concat(tables).to_parquet(layout.MANIFEST, index=False)
    digests = {"manifest": digest_path(layout.MANIFEST), "examples": digest_path(layout.EXAMPLES)}
    write_json(layout.VALIDATION, read_json(layout.VALIDATION) | digests)


def loosen(params: TextParams) -> TextParams:
    """Change one limit that gates alone read."""
    return limit(params, floor=params.evaluation.floor - 0.05)


def limit(params: TextParams, **limits: object) -> TextParams:
    """Change keys of `evaluation`."""
    return params.model_copy(update={"evaluation": params.evaluation.model_copy(update=limits)})


def failed_gates() -> list[str]:
    return [
        gate["name"] for gate in read_json(layout.EVIDENCE)["gates"] if gate["status"] == "fail"
    ]


def test_a_sound_winner_may_be_promoted_with_all_that_register_needs(here: Path) -> None:
    evidence = document.read_evidence(PARAMS)
    assert (evidence["verdict"], evidence["winner"]) == ("promote", "good")
    assert evidence["ranking"] == ["good", "fair"]  # best first, and nothing of the removed one
    told = {gate["name"]: gate["status"] for gate in evidence["gates"]}
    assert list(told) == [gate.name for gate in gates.GATES if gate.name != "groups"]
    assert {name for name, status in told.items() if status != "pass"} == {
        "bounds",
        "test_split",
        "champion",
        "parity",
        "export",  # these bundles hold no graph
        "uncertainty",  # no ensemble
        "selective",  # no risk is stated
    }
    assert [form["name"] for form in evidence["forms"]] == ["fp32"]
    assert evidence["digests"]["bundle"] == bundle.digest(layout.locate_bundle("good"))
    assert evidence["digests"]["manifest"] == digest_path(layout.MANIFEST)
    assert evidence["digests"]["golden"] == digest_path(layout.GOLDEN)
    assert evidence["hardware"]["trainings"] == {"good": TRAINED_WITH}
    assert evidence["hardware"]["evaluation"].keys() < TRAINED_WITH.keys()
    assert "cpu, bf16; Some CPU, AVX512, 8 threads" in layout.MODEL_CARD.read_text()
    assert "Some CPU" in layout.REPORT.read_text()
    assert evidence["champion"] is None
    assert evidence["looks"]["number"] == 1
    for case in evidence["behaviour"]:
        assert case["num_cases"], case
        low, high = case["interval"]
        assert low <= case["num_passed"] / case["num_cases"] <= high
    metrics = read_json(layout.METRICS)
    assert metrics["test"]["accuracy"] == pytest.approx(0.95)
    assert metrics["test_interval"]["low"] < 0.95 < metrics["test_interval"]["high"]
    assert {"fair", "good"} <= set(metrics["candidates"])
    assert metrics["candidates"]["good"] == {"validation": metrics["validation"]}
    assert set(metrics["test"]) == {"accuracy"}  # the others are in the evidence


def test_golden_rows_are_what_the_winner_answers(here: Path) -> None:
    golden = read_json(layout.GOLDEN)
    predictor = bundle.load(layout.locate_bundle("good"))
    assert len(golden["inputs"]["text"]) == 32
    assert predictor.predict(golden["inputs"], **golden["params"]) == golden["outputs"]


def test_every_prediction_is_kept_with_its_id(here: Path) -> None:
    kept = pd.read_parquet(layout.PREDICTIONS)
    counts = kept.groupby(["candidate", "split"]).size().to_dict()
    assert counts == {
        ("good", "validation"): 80,
        ("good", "test"): 200,
        ("fair", "validation"): 80,
        ("fair", "test"): 200,
        ("majority", "test"): 200,
        ("stratified", "test"): 200,
        (layout.name_control("fair"), "test"): 200,
    }
    joined = kept.merge(pd.read_parquet(layout.MANIFEST), on=["id", "split"])
    assert len(joined) == len(kept)
    assert (joined["actual"] == joined["label"]).all()


def test_dvc_gets_plots_and_no_stale_ones(here: Path) -> None:
    names = {path.name for path in layout.PLOTS.iterdir()}
    assert {
        "confusion.csv",
        "reliability.csv",
        "per_class.csv",
        "confusion.svg",
        "cost.svg",
    } <= names
    assert "stale.csv" not in names
    assert list(pd.read_csv(layout.PLOTS / "confusion.csv").columns) == ["actual", "predicted"]
    assert not list(Path("reports").glob(".*"))


def test_a_limit_alone_measures_nothing_again_and_what_is_measured_again_is_equal(
    checkout: Path, task: Task, capsys: pytest.CaptureFixture[str]
) -> None:
    before = read_json(layout.EVIDENCE)
    written = [layout.METRICS, layout.PREDICTIONS, layout.GOLDEN, layout.DRIFT_REFERENCE]
    kept = [path.read_bytes() for path in written]
    shown = {path.name: path.read_bytes() for path in layout.PLOTS.iterdir()}
    other = loosen(PARAMS)
    with steps.show_steps("evaluate"):
        evaluate(other, task)
    assert "takes what the last evaluation measured" in capsys.readouterr().out
    evidence = document.read_evidence(other)
    told = {"params", "thresholds", "gates", "digests", "seal", "summary"}
    told |= {"loosened", "lineage"}
    assert {name for name in before if evidence[name] != before[name]} <= told
    assert evidence["thresholds"]["floor"] == other.evaluation.floor != PARAMS.evaluation.floor
    assert {path.name: path.read_bytes() for path in layout.PLOTS.iterdir()} == shown
    assert [path.read_bytes() for path in written] == kept
    verify_evidence(evidence, other, task)

    evaluate(other, task)  # as `dvc repro --force` does
    again = read_json(layout.EVIDENCE)
    assert again["rehearsal"]["seed"] != before["rehearsal"]["seed"]
    assert [path.read_bytes() for path in written] == kept
    assert again["looks"]["number"] == 1  # the same question is one look


def change_a_row(task: Task, _patch: pytest.MonkeyPatch) -> None:
    rows = read_rows(layout.EXAMPLES, "test")
    rows.loc[0, "text"] += " today"
    write_rows(layout.EXAMPLES, "test", rows)
    renew_manifest(task)


def change_a_library(_task: Task, patch: pytest.MonkeyPatch, origin: str = "{}") -> None:
    other = Path("site/other-1.0.dist-info/METADATA")
    other.parent.mkdir(parents=True)
    other.write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    other.with_name("direct_url.json").write_text(origin)
    patch.syspath_prepend(other.parents[1].resolve())


def change_own_code(_task: Task, _patch: pytest.MonkeyPatch) -> None:
    code = Path("src/shared/more.py")  # which a task may import
    code.parent.mkdir(parents=True)
    code.write_text("more = True\n")


def change_what_was_kept(_task: Task, _patch: pytest.MonkeyPatch) -> None:
    path = layout.MEASURED / "facts.json"
    path.write_text(path.read_text().replace('"one_p95": ', '"one_p95": 1'))


def change_kept_scores(_task: Task, _patch: pytest.MonkeyPatch) -> None:
    path = layout.MEASURED / layout.PREDICTIONS.name
    pd.read_parquet(path).assign(correct=1.0).to_parquet(path, index=False)


@pytest.mark.parametrize(
    "change",
    [
        change_a_row,
        lambda task, _: add_bundle(task, "fair", 4),
        lambda task, _: add_bundle(task, layout.name_control("fair"), 2),
        change_a_library,
        lambda _, patch: patch.setenv("OMP_NUM_THREADS", "77"),
        lambda _, patch: patch.setattr(os, "sched_getaffinity", lambda _: range(77)),
        change_own_code,
        change_what_was_kept,
        change_kept_scores,
    ],
    ids=["row", "weights", "control", "library", "threads", "cpus", "code", "facts", "scores"],
)
def test_measurements_hold_for_what_was_measured_alone(
    change: Callable[[Task, pytest.MonkeyPatch], None],
    checkout: Path,
    task: Task,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = loosen(PARAMS)
    assert restore(gather(other, task), task)
    change(task, monkeypatch)
    assert restore(gather(other, task), task) is None


def test_an_editable_package_may_have_changed(
    checkout: Path, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_a_library(task, monkeypatch, '{"dir_info": {"editable": true}}')
    evaluate(PARAMS, task)
    assert restore(gather(loosen(PARAMS), task), task) is None


def test_another_pin_seed_or_slice_is_another_measurement(checkout: Path, task: Task) -> None:
    other = loosen(PARAMS)
    assert restore(gather(other, task), task)
    linear = PARAMS.candidates["good"].model_copy(update={"max_features": 7})
    limits = PARAMS.evaluation.model_copy(update={"slices": []})
    for change in (
        {"seed": 8},
        {"evaluation": limits},
        {"candidates": PARAMS.candidates | {"good": linear}},
    ):
        assert restore(gather(other.model_copy(update=change), task), task) is None


def test_a_policy_that_changed_since_a_look_is_said_beside_the_verdict(
    checkout: Path, task: Task
) -> None:
    rule = PARAMS.evaluation.champion.model_copy(update={"policy": "not-worse", "margin": 0.01})
    evaluate(limit(PARAMS, champion=rule), task)
    evidence = read_json(layout.EVIDENCE)
    assert evidence["looks"]["number"] == 2
    assert "Use 1 of this test split asked: better by 0, slices" in evidence["summary"]
    require_look(evidence)


def test_a_bad_result_is_a_refusal_on_record_and_no_error(
    checkout: Path, task: Task, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("good", "fair"):
        add_bundle(task, name, 2)
    evaluate(PARAMS, task)
    evidence = read_json(layout.EVIDENCE)
    assert evidence["verdict"] == "refuse"
    assert "floor" in failed_gates()
    assert evidence["looks"]["number"] == 2
    summary.print_report(Console())
    said = capsys.readouterr().out
    assert "must not be promoted" in said
    assert "floor" in said
    assert "reports/report.html" in said


def test_a_served_form_that_answers_otherwise_than_the_trained_one_is_refused(
    checkout: Path, task: Task
) -> None:
    add_bundle(task, "good", 20, int8=8)
    evaluate(PARAMS, task)
    assert failed_gates() == ["parity"]
    ours, theirs = read_json(layout.EVIDENCE)["forms"]
    assert (ours["name"], ours["served"], ours["agreement"]) == ("int8", True, 0.875)
    assert (theirs["name"], theirs["served"], theirs["agreement"]) == ("fp32", False, None)
    assert (ours["score"], theirs["score"]) == (0.875, 0.95)
    assert ours["low"] < 0.875 < ours["high"]
    assert 0 < ours["p50"] <= ours["p95"]
    assert "one row" in layout.REPORT.read_text(encoding="utf-8")


def test_labels_that_changed_since_validation_are_refused(checkout: Path, task: Task) -> None:
    """In the examples alone: an error, before a look at the test split; in both: a gate."""
    test = read_rows(layout.EXAMPLES, "test")
    test["label"] = bundle.load(layout.locate_bundle("good")).predict(
        {"text": test["text"].tolist()}
    )["label"]
    write_rows(layout.EXAMPLES, "test", test)
    with pytest.raises(DataError, match=r"test, row 1 \(r200\): label is 'delivery' there"):
        evaluate(PARAMS, task)
    assert read_json(layout.EVIDENCE)["verdict"] == "error"
    manifest = pd.read_parquet(layout.MANIFEST)
    manifest.loc[manifest["split"] == "test", "label"] = test["label"].to_numpy()
    manifest.to_parquet(layout.MANIFEST, index=False)
    evaluate(PARAMS, task)
    assert "accepted" in failed_gates()


def test_whoever_is_shown_on_the_test_split_is_part_of_the_question(
    checkout: Path, task: Task
) -> None:
    alone = PARAMS.model_copy(update={"candidates": {"good": PARAMS.candidates["good"]}})
    alone = alone.model_copy(
        update={"control": PARAMS.control.model_copy(update={"candidates": []})}
    )
    evaluate(alone, task)
    assert read_json(layout.EVIDENCE)["looks"]["number"] == 2


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


def damage_first_page(path: Path) -> None:
    """Spoil the rows of a Parquet file, of which the schema at its end can still be read."""
    content = bytearray(path.read_bytes())
    content[4:64] = bytes(60)
    path.write_bytes(content)


def rename_ids() -> None:
    manifest = pd.read_parquet(layout.MANIFEST)
    manifest.loc[manifest["split"] == "test", "id"] += "x"
    manifest.to_parquet(layout.MANIFEST, index=False)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda: cut_off(layout.VALIDATION), f"{layout.VALIDATION}: cannot be read"),
        (lambda: damage_first_page(layout.MANIFEST), f"{layout.MANIFEST}: cannot be read"),
        (lambda: locate_hardware("fair").write_text("[1]"), "fair.hardware.json: cannot be read"),
        (rename_ids, "id is 'r200' there and 'r200x' in data"),
        (
            lambda: write_json(layout.locate_bundle("fair") / "config.json", {"words": {}}),
            r"models/fair/config\.json: changed since",
        ),
        (lambda: shutil.rmtree(layout.locate_bundle("control.fair")), r"control\.fair"),
    ],
    ids=["report", "manifest", "hardware", "ids", "bundle", "control"],
)
def test_damaged_inputs_are_named_and_no_verdict_is_reached(
    checkout: Path, task: Task, damage: Callable[[], None], message: str
) -> None:
    layout.METRICS.unlink()
    damage()
    with pytest.raises(PlumblineError, match=message):
        evaluate(PARAMS, task)
    assert not layout.METRICS.exists()
    assert read_json(layout.EVIDENCE)["verdict"] == "error"


def test_an_unknown_slice_is_named_before_anything_is_scored(checkout: Path, task: Task) -> None:
    with pytest.raises(ParamsError, match=r"no column chanel \(did you mean channel\?\)"):
        evaluate(limit(PARAMS, slices=["chanel"]), task)
    groups = Groups(columns=["chanel"], rate="error", max_gap=0.05, min_rows=20)
    with pytest.raises(ParamsError, match=r"groups.columns: .* no column chanel \(did you mean"):
        evaluate(limit(PARAMS, groups=groups), task)


def test_gaps_are_asked_of_what_was_measured_and_evidence_without_them_stays_valid(
    checkout: Path, task: Task, capsys: pytest.CaptureFixture[str]
) -> None:
    before = read_json(layout.EVIDENCE)
    assert "groups" not in before.keys() | before["thresholds"].keys()
    groups = Groups(columns=["channel"], rate="answer=refund", max_gap=0.1, min_rows=20)
    asked = limit(PARAMS, groups=groups)
    with steps.show_steps("evaluate"):
        evaluate(asked, task)
    assert "takes what the last evaluation measured" in capsys.readouterr().out
    evidence = document.read_evidence(asked)
    verify_evidence(evidence, asked, task)
    assert {one["value"] for one in evidence["groups"]["rates"]} == {"mail", "chat", "fax"}
    assert {gate["status"] for gate in evidence["gates"] if gate["name"] == "groups"} == {"pass"}
    assert (evidence["verdict"], evidence["looks"]["number"]) == ("promote", 2)
    assert "answer=refund" in layout.REPORT.read_text()


def test_a_registry_that_is_away_is_an_error_and_no_cold_start(
    checkout: Path, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("PLUMBLINE_JOURNAL_URI", f"sqlite:///{checkout}/mlruns/journal.db")
    with pytest.raises(RegistryError, match="cannot be used"):
        evaluate(PARAMS, task)
    assert document.read_evidence(PARAMS)["verdict"] == "error"


@pytest.mark.slow
def test_the_champion_answers_the_same_examples_and_what_changed_is_told(
    checkout: Path, task: Task
) -> None:
    add_bundle(task, "good", 6)
    evaluate(PARAMS, task)
    register(PARAMS, task)  # first_champion: true
    add_bundle(task, "good", 40)
    layout.PARAMS.write_text(layout.PARAMS.read_text().replace("seed: 7", "seed: 8"))
    evaluate(PARAMS, task)
    evidence = document.read_evidence(PARAMS)
    assert evidence["champion"]["version"] == "1"
    assert evidence["comparison"]["difference"] == pytest.approx(0.16 - 0.02, abs=0.02)
    assert (evidence["verdict"], failed_gates()) == ("promote", [])
    assert evidence["flips"]["num_won"] > evidence["flips"]["num_lost"]
    assert {"key": "seed", "old": 7, "new": 8} in evidence["changes"]["params"]
    assert evidence["changes"]["data"]["same"]
    assert {slice_["reference"] for slice_ in evidence["slices"]} == {"the champion"}

    evaluate(loosen(PARAMS), task)  # the champion that was asked is not asked again
    again = document.read_evidence(loosen(PARAMS))
    for fact in ("champion", "flips", "comparison", "slices", "rehearsal"):
        assert again[fact] == evidence[fact]
    layout.PARAMS.write_text(layout.PARAMS.read_text().replace("seed: 8", "seed: 9"))
    evaluate(PARAMS, task)
    assert {"key": "seed", "old": 7, "new": 9} in read_json(layout.EVIDENCE)["changes"]["params"]

    pin = promotion.pin_champion("ticket-router")
    assert pin
    champion_pin.write_pin("ticket-router", dataclasses.replace(pin, bundle="0" * 64))
    with pytest.raises(JournalError, match="the journal does not contain that entry"):
        evaluate(PARAMS, task)
    champion_pin.write_pin("ticket-router", None)
    evaluate(PARAMS, task)
    evidence = document.read_evidence(PARAMS)
    assert (evidence["champion"], evidence["flips"]) == (None, None)
    layout.CHAMPION.unlink()  # so that it follows the registry
    evaluate(PARAMS, task)
    assert document.read_evidence(PARAMS)["comparison"] == again["comparison"]


@pytest.mark.slow
def test_a_worse_challenger_does_not_win_where_a_class_got_another_name(
    checkout: Path, task: Task
) -> None:
    """Else the champion would be wrong on every row of it, since it answers the old name."""
    evaluate(PARAMS, task)
    register(PARAMS, task)  # first_champion: true
    for split in SPLITS:
        rows = read_rows(layout.EXAMPLES, split)
        renamed = rows["label"].replace({"refund": "money back"})
        write_rows(layout.EXAMPLES, split, rows.assign(label=renamed))
    renew_manifest(task)
    for name in ("good", "fair", layout.name_control("fair")):
        add_bundle(task, name, 9, refund_is="money back")

    evaluate(PARAMS, task)

    evidence = document.read_evidence(PARAMS)
    assert evidence["changes"]["data"]["renames"] == {"refund": "money back"}
    assert evidence["comparison"]["difference"] == pytest.approx(0.05 - 0.11, abs=0.02)
    assert evidence["verdict"] != "promote"
    assert {"test_split", "champion"} & set(failed_gates()) == {"champion"}


COSTS = {"refund": {"login": 3.0}}  # the error that these models make


@pytest.mark.parametrize(
    "metric", [pytest.param("macro_f1", marks=pytest.mark.slow), "expected_cost"]
)
def test_a_chosen_metric_is_ranked_gated_derived_again_and_another_question(
    metric: str, checkout: Path, task: Task
) -> None:
    costs = COSTS if metric == "expected_cost" else None
    chosen = limit(PARAMS, metric=metric, costs=costs, max_detectable_difference=1.0)
    configured = task.configure(chosen)
    evaluate(chosen, configured)
    evidence = document.read_evidence(chosen)
    assert evidence["metric"]["name"] == metric
    assert evidence["looks"]["number"] == 2  # the same models by another metric
    assert "Use 1 of this test split asked: better by 0" in evidence["summary"]
    assert failed_gates() == []
    predictions = pd.read_parquet(layout.PREDICTIONS)
    rows = predictions[(predictions["candidate"] == "good") & (predictions["split"] == "test")]
    score = evidence["candidates"]["good"]["test"][metric]
    assert score == pytest.approx(rows[metric].mean())
    told = {gate["name"]: gate for gate in evidence["gates"]}
    assert told["floor"]["measured"] == pytest.approx(score)
    assert told["calibration"]["status"] == "pass"  # of right and wrong answers, as before
    assert ("cheapest" in evidence["baselines"]) == (metric == "expected_cost")
    if configured.metric.of_whole_split:  # groups are compared by what is right
        assert evidence["slices"]
        assert all(group["score"] * group["num_rows"] % 1 == 0 for group in evidence["slices"])
    verify_evidence(evidence, chosen, task)
    evaluate(chosen, configured)
    assert document.read_evidence(chosen)["looks"]["number"] == 2


def test_seeds_are_ranked_by_their_mean_and_the_median_ships(checkout: Path, task: Task) -> None:
    add_bundle(task, "fair", 12)
    seeded = add_seeds(task, PARAMS, 30, 4, 20)
    evaluate(seeded, task)
    evidence = document.read_evidence(seeded)
    seeds = evidence["candidates"]["good"]["seeds"]
    assert (seeds["shipped"], seeds["bundle"]) == (9, "good.seeds/9")
    assert seeds["validation"] == pytest.approx({"7": 0.97, "8": 0.75, "9": 0.95}, abs=0.01)
    assert seeds["validation_mean"] == pytest.approx(0.89, abs=0.01)
    assert seeds["validation_spread"] == pytest.approx(np.std([0.97, 0.75, 0.95], ddof=1), abs=0.01)
    # Its median is better than `fair`, and its mean is not.
    assert evidence["candidates"]["good"]["validation"]["accuracy"] == pytest.approx(0.95, abs=0.01)
    assert evidence["ranking"] == ["fair", "good"]
    assert "seeds" not in evidence["candidates"]["fair"]
    assert set(evidence["bundles"]) == {
        "good", "good.seeds/8", "good.seeds/9", "fair", "control.fair",
    }  # fmt: skip
    answers = pd.read_parquet(layout.PREDICTIONS)
    assert {"good@seed7", "good@seed8", "good@seed9"} <= set(answers["candidate"])


@pytest.mark.parametrize(("simple", "winner"), [("fair", "fair"), (None, "good")])
def test_an_experiment_has_the_winner_that_an_evaluation_has(
    simple: str | None,
    winner: str,
    checkout: Path,
    task: Task,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    add_bundle(task, "fair", 16)
    here = limit(PARAMS, simple_candidate=simple)
    evaluate(here, task)
    assert document.read_evidence(here)["winner"] == winner
    capsys.readouterr()
    monkeypatch.setenv(experiment.VARIABLE, "f" * 40)
    evaluate(here, task)
    metrics = read_json(layout.METRICS)
    assert metrics["winner"] == winner
    assert metrics["validation"] == metrics["candidates"][winner]["validation"]
    assert f"evaluate: {winner} is the winner, with accuracy" in capsys.readouterr().out


def test_a_seed_that_changed_or_is_missing_is_named(checkout: Path, task: Task) -> None:
    seeded = add_seeds(task, PARAMS, 30, 16, 20)
    evaluate(seeded, task)
    add_bundle(task, "good.seeds/8", 15)
    with pytest.raises(EvidenceError, match=r"good\.seeds/8 is not what the evidence"):
        register(seeded, task)
    shutil.rmtree("models/good.seeds/8")
    with pytest.raises(PlumblineError, match=r"good\.seeds/8: there is no bundle\.json"):
        evaluate(seeded, task)
