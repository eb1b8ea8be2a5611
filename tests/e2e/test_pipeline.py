"""A new task runs with the real DVC and MLflow: one folder, one params.yaml, no other change."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.support.checkouts import Checkout

pytestmark = pytest.mark.slow

STAGES = [
    "ingest",
    "validate",
    "train@nothing",
    "train@closed",
    "train@gradient",
    "control@closed",
    "evaluate",
    "register",
]


def ran(text: str) -> list[str]:
    return re.findall(r"Running stage '([^']+)'", text)


def registration(line: Checkout) -> dict:
    return json.loads((line.path / "reports/registration.json").read_text())


def champion(line: Checkout) -> str:
    code = """
import mlflow, pandas
model = mlflow.pyfunc.load_model("models:/line@champion")
print(model.predict(pandas.DataFrame({"x": [0.0, 1.0]}))["y"].tolist())
"""
    unwritten = {"PYTHONDONTWRITEBYTECODE": "1"}  # MLflow would write it into the registry's folder
    return line.run(
        sys.executable, "-W", "ignore", "-c", code, MLFLOW_TRACKING_URI=store(line), **unwritten
    ).stdout


def store(line: Checkout) -> str:
    return f"sqlite:///{line.path}/mlruns/mlflow.db"


@pytest.fixture(scope="module")
def first(line: Checkout) -> str:
    """What the first run printed."""
    return line.run("dvc", "repro").stdout


def test_data_in_a_registered_model_out(line: Checkout, first: str) -> None:
    assert ran(first) == STAGES
    found = registration(line)
    assert (found["verdict"], found["version"], found["winner"]) == ("promote", "1", "closed")
    low, high = json.loads(champion(line))
    assert low == pytest.approx(1, abs=0.05)
    assert high == pytest.approx(3, abs=0.05)


def test_the_package_holds_no_pickle_and_no_path_of_this_machine(
    line: Checkout, first: str
) -> None:
    (model,) = (line.path / "mlruns/artifacts/models").iterdir()
    files = [path for path in model.rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix in (".pkl", ".pickle", ".pt", ".pyc")]
    assert "torch" not in (model / "artifacts/requirements.txt").read_text()


def test_nothing_to_do(line: Checkout, first: str) -> None:
    line.run(sys.executable, "-m", "compileall", "-q", "src")  # bytecode is no dependency
    assert list(line.path.glob("src/plumbline/stages/__pycache__/*.pyc"))
    assert ran(line.run("dvc", "repro").stdout) == []
    assert registration(line)["version"] == "1"


def test_one_changed_candidate_trains_alone_and_the_way_back_is_cached(
    line: Checkout, first: str
) -> None:
    line.replace("params.yaml", "max_epochs: 4", "max_epochs: 5")
    assert ran(line.run("dvc", "repro").stdout)[:2] == ["train@gradient", "evaluate"]
    line.replace("params.yaml", "max_epochs: 5", "max_epochs: 4")
    back = line.run("dvc", "repro").stdout
    assert "train@gradient" not in ran(back)
    assert registration(line)["version"] == "1"  # the same bundle is the same version


def test_metrics_and_experiments(line: Checkout, first: str) -> None:
    line.run("git", "add", "-A")
    line.run("git", "commit", "-qm", "first")
    said = line.run(
        "dvc", "exp", "run", "-S", "candidates.gradient.learning_rate=0.01", "-n", "slower"
    ).stdout
    assert "train@gradient" in ran(said)
    assert "train@closed" not in ran(said)
    changed = line.run("dvc", "params", "diff").stdout
    assert "candidates.gradient.learning_rate" in changed
    assert "gradient" in line.run("dvc", "metrics", "diff").stdout
    line.run("git", "checkout", "-q", ".")
    line.run("dvc", "checkout", "-q")


def test_rejected_data_cannot_be_trained_on(line: Checkout, first: str) -> None:
    line.replace("params.yaml", "max_abs_x: 1.0", "max_abs_x: 0.5")
    done = line.run("dvc", "repro", code=None)
    assert done.returncode != 0
    assert "range" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert not any(stage.startswith("train") for stage in ran(done.stdout))
    direct = line.run(sys.executable, "-P", "pipelines/train.py", "closed", code=1)
    assert "validate rejected data/manifest.parquet" in direct.stderr
    examined = line.run("plumbline", "doctor").stdout
    assert "warn outputs: reports/validation.json is the record of a refusal" in examined
    (line.path / "reports/validation.json").unlink()
    direct = line.run(sys.executable, "-P", "pipelines/train.py", "closed", code=1)
    assert "not what was validated" in direct.stderr
    line.replace("params.yaml", "max_abs_x: 0.5", "max_abs_x: 1.0")
    line.run("dvc", "repro")


def test_a_refusal_registers_nothing_and_fails_the_run(line: Checkout, first: str) -> None:
    line.replace("params.yaml", "floor: 0.1", "floor: 0.0001")
    done = line.run("dvc", "repro", code=None)
    assert done.returncode != 0
    assert "refused, nothing was registered" in done.stderr
    assert registration(line)["version"] is None
    assert (
        line.run(sys.executable, "-P", "pipelines/register.py", code=20).stderr.count("  floor: ")
        == 1
    )
    line.replace("params.yaml", "floor: 0.0001", "floor: 0.1")
    line.run("dvc", "repro")
    assert registration(line)["version"] == "1"


def test_a_tampered_bundle_is_not_served(line: Checkout, first: str) -> None:
    (weights,) = (line.path / "mlruns/artifacts/models").rglob("weights.json")
    original = weights.read_bytes()
    weights.write_bytes(original.replace(b"slope", b"slop3"))
    done = line.run("plumbline", "predict", "1.0", code=1)
    assert "weights.json: changed since the bundle was sealed" in done.stderr
    assert "Traceback" not in done.stderr
    weights.write_bytes(original)
    assert json.loads(line.run("plumbline", "predict", "--json", "0.0").stdout)[
        "y"
    ] == pytest.approx(1, abs=0.05)


def test_two_stages_never_write_at_once(line: Checkout, first: str) -> None:
    import fcntl

    with (line.path / ".plumbline/lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = line.run(sys.executable, "-P", "pipelines/ingest.py", code=1)
    assert "another stage is running here" in done.stderr


def test_tracking_that_is_away_does_not_stop_training(line: Checkout, first: str) -> None:
    done = line.run(
        sys.executable,
        "-P",
        "pipelines/train.py",
        "closed",
        MLFLOW_TRACKING_URI="http://127.0.0.1:9",
    )
    assert "tracking: 1 run waits in .plumbline/stages (127.0.0.1:9 is unreachable" in done.stderr


def test_register_without_its_registry_changes_nothing(line: Checkout, first: str) -> None:
    before = registration(line)
    done = line.run(
        sys.executable,
        "-P",
        "pipelines/register.py",
        code=1,
        MLFLOW_TRACKING_URI="http://127.0.0.1:9",
        # Evidence that names a champion is held against the journal first, which is here.
        PLUMBLINE_JOURNAL_URI=f"sqlite:///{line.path / 'mlruns/journal.db'}",
    )
    assert "127.0.0.1:9 is unreachable" in done.stderr
    assert "Traceback" not in done.stderr
    assert registration(line) == before


def test_ctrl_c_leaves_no_half_written_file(line: Checkout, first: str) -> None:
    started = subprocess.Popen(
        [sys.executable, "-P", "pipelines/train.py", "gradient"],
        cwd=line.path, env=line.environment, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (line.path / ".plumbline/lock").read_text().startswith(f"train, pid {started.pid}"):
        time.sleep(0.05)
    os.kill(started.pid, signal.SIGTERM)
    assert "terminated; run the same command again" in started.communicate(timeout=600)[1]
    assert started.returncode == 143
    assert [path.name for path in (line.path / "models").glob(".*")] == []
    line.run("dvc", "repro")
    assert ran(line.run("dvc", "repro").stdout) == []
