"""`plumbline tune` as a user runs it, on a task that trains in a second."""

import contextlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState
from tests.support.checkouts import Checkout

from plumbline.contract.yaml_file import load_yaml
from plumbline.tuning.studies import list_trials

PLAIN = "gradient: {kind: gradient, learning_rate: 0.05, max_epochs: 4}"
SEARCHED = """gradient:
    kind: gradient
    learning_rate: 0.05   # of Adam
    max_epochs: 4
    search:
      learning_rate: {low: 1.0e-3, high: 0.5, log: true}
      max_epochs: {low: 1, high: 6}"""
COMMAND = ("plumbline", "tune", "gradient", "--trials", "8")


@pytest.fixture(scope="module")
def tuned(line: Checkout) -> Checkout:
    """A checkout with accepted data, in which a search was made."""
    line.replace("params.yaml", PLAIN, SEARCHED)
    line.environment["OMP_NUM_THREADS"] = "1"
    line.run("dvc", "repro", "--quiet", "validate")
    line.printed = line.run(*COMMAND, "--seeds", "1").stdout  # type: ignore[attr-defined]
    return line


def open_study(storage: Path) -> optuna.Study:
    """Open the first study in the file."""
    url = f"sqlite:///{storage}"
    first, *_ = optuna.study.get_all_study_names(url)
    return optuna.load_study(study_name=first, storage=url)


def has_trials(storage: Path) -> bool:
    """Whether trials are in the file; Optuna would create what is not there."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{storage}?mode=ro", uri=True)) as file:
            return bool(file.execute("SELECT count(*) FROM trials").fetchone()[0])
    except sqlite3.OperationalError:
        return False


def wait_for_trial(storage: Path, process: subprocess.Popen[bytes], least: int) -> int:
    """Wait until an entry after `least` of them runs, and return its number."""
    until = time.monotonic() + 600
    while time.monotonic() < until and process.poll() is None:
        if has_trials(storage):
            for trial in open_study(storage).get_trials(states=(TrialState.RUNNING,)):
                if trial.number >= least:
                    return trial.number
        time.sleep(0.05)
    pytest.fail("no trial runs")


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_search_that_was_stopped_goes_on(tuned: Checkout, stop: signal.Signals) -> None:
    tuned.environment["PLUMBLINE_TRACKING"] = "off"
    shutil.rmtree(tuned.path / ".plumbline/tuning", ignore_errors=True)
    storage = tuned.path / ".plumbline/tuning/studies.db"
    process = subprocess.Popen(
        (*COMMAND, "--seeds", "0"), cwd=tuned.path, env=tuned.environment, stdout=subprocess.DEVNULL
    )
    number = wait_for_trial(storage, process, 1)
    process.send_signal(stop)
    assert process.wait(600) == (130 if stop == signal.SIGINT else -stop)
    tuned.run(*COMMAND, "--seeds", "0")
    trials = list_trials(open_study(storage))
    assert len(trials) == 8
    assert {trial.state for trial in trials} <= {TrialState.COMPLETE, TrialState.PRUNED}
    entries = open_study(storage).get_trials()
    assert number in [entry.system_attrs.get("failed_trial") for entry in entries]


@pytest.mark.slow
def test_the_result_is_printed(tuned: Checkout) -> None:
    assert "best of 8 trials" in tuned.printed  # type: ignore[attr-defined]
    assert "with other seeds: mean" in tuned.printed  # type: ignore[attr-defined]


@pytest.mark.slow
def test_no_look_is_spent_and_no_trial_sees_the_test_split(tuned: Checkout) -> None:
    assert list((tuned.path / ".plumbline/tuning/gradient/examples").glob("train*"))
    assert not list((tuned.path / ".plumbline/tuning/gradient/examples").glob("test*"))
    assert not (tuned.path / "mlruns/journal.db").exists()
    assert not list((tuned.path / ".plumbline/tuning/gradient/trials").iterdir())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy")
def test_each_trial_is_a_run_of_mlflow_below_that_of_the_search(tuned: Checkout) -> None:
    from mlflow import MlflowClient

    code = "from plumbline.tracking import delivery; delivery.deliver()"
    tuned.run(sys.executable, "-c", code)
    client = MlflowClient(f"sqlite:///{tuned.path}/mlruns/mlflow.db")
    experiment = client.get_experiment_by_name("line").experiment_id
    runs = client.search_runs([experiment], "tags.`plumbline.stage` = 'tune'")
    trials = {run.info.run_name: run for run in runs if run.info.run_name.startswith("trial")}
    assert {f"trial {number}" for number in range(8)} <= trials.keys()
    parent = client.get_run(trials["trial 0"].data.tags["mlflow.parentRunId"])
    assert parent.info.run_name == "line tune gradient"
    assert trials["trial 0"].data.params["searched.learning_rate"] == "0.05"
    assert "validation/squared_error" in trials["trial 0"].data.metrics


@pytest.mark.slow
def test_apply_writes_what_was_proposed_and_how_many_trials_chose_it(tuned: Checkout) -> None:
    before = tuned.path.joinpath("params.yaml").read_text(encoding="utf-8")
    best = open_study(tuned.path / ".plumbline/tuning/studies.db").best_trial
    tuned.run(*COMMAND, "--seeds", "0", "--apply")
    text = tuned.path.joinpath("params.yaml").read_text(encoding="utf-8")
    config = load_yaml(tuned.path / "params.yaml")["candidates"]["gradient"]
    assert config["learning_rate"] == float(f"{best.params['learning_rate']:.3g}")
    assert config["max_epochs"] == best.params["max_epochs"]
    assert config["trials"] == 8
    assert "# of Adam" in text
    assert len(text.splitlines()) == len(before.splitlines()) + 1


def test_a_candidate_without_a_search_says_what_to_write(checkout: Checkout) -> None:
    shutil.copyfile(checkout.path / "recipes/label_sets.yaml", checkout.path / "params.yaml")
    done = checkout.run("plumbline", "tune", "transformer", code=2)
    assert "candidates.transformer: has no search; write below it what to try" in done.stderr
    done = checkout.run("plumbline", "tune", "lineer", code=2)
    assert "did you mean linear" in done.stderr


@pytest.mark.slow
def test_another_winner_is_trained_again_in_runs_of_its_own(tuned: Checkout) -> None:
    tuned.environment.pop("PLUMBLINE_TRACKING", None)
    tuned.run("plumbline", "tune", "gradient", "--trials", "8", "--seeds", "1")
    study = open_study(tuned.path / ".plumbline/tuning/studies.db")
    trial = study.best_trial
    study.add_trial(
        optuna.trial.create_trial(
            params=trial.params | {"learning_rate": 0.25},
            distributions=trial.distributions,
            value=trial.value and trial.value / 2,
        )
    )
    done = tuned.run("plumbline", "tune", "gradient", "--trials", "9", "--seeds", "1")
    assert "tracking" not in done.stderr
    assert not list(tuned.path.glob(".plumbline/tracking/*.json"))


@pytest.mark.slow
def test_a_trial_that_was_stopped_early_is_no_score_of_params(tuned: Checkout) -> None:
    config = load_yaml(tuned.path / "params.yaml")["candidates"]["gradient"]
    tuned.replace("params.yaml", f"learning_rate: {config['learning_rate']}", "learning_rate: 0.4")
    study = open_study(tuned.path / ".plumbline/tuning/studies.db")
    trial = study.best_trial
    study.add_trial(
        optuna.trial.create_trial(
            state=TrialState.PRUNED,
            params={"learning_rate": 0.4, "max_epochs": config["max_epochs"]},
            distributions=trial.distributions,
            value=0.125,
        )
    )
    done = tuned.run("plumbline", "tune", "gradient", "--trials", "9", "--seeds", "0")
    assert "params.yaml as it is" not in done.stdout
