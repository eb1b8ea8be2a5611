"""A new task runs with the real DVC and MLflow: one folder, one params.yaml, no other change."""

import json
import re
import sys

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


def champion(line: Checkout) -> str:
    code = """
import mlflow, pandas
model = mlflow.pyfunc.load_model("models:/line@champion")
print(model.predict(pandas.DataFrame({"x": [0.0, 1.0]}))["y"].tolist())
"""
    unwritten = {"PYTHONDONTWRITEBYTECODE": "1"}  # MLflow would write it into the registry's folder
    return line.run(
        sys.executable, "-W", "ignore", "-c", code, MLFLOW_TRACKING_URI=line.store, **unwritten
    ).stdout


@pytest.fixture(scope="module")
def first(line: Checkout) -> str:
    """What the first run printed."""
    return line.run("dvc", "repro").stdout


def test_data_in_a_registered_model_out(line: Checkout, first: str) -> None:
    assert ran(first) == STAGES
    found = line.read_report("registration")
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
    assert line.read_report("registration")["version"] == "1"


def test_one_changed_candidate_trains_alone_and_the_way_back_is_cached(
    line: Checkout, first: str
) -> None:
    line.replace("params.yaml", "max_epochs: 4", "max_epochs: 5")
    assert ran(line.run("dvc", "repro").stdout)[:2] == ["train@gradient", "evaluate"]
    line.replace("params.yaml", "max_epochs: 5", "max_epochs: 4")
    back = line.run("dvc", "repro").stdout
    assert "train@gradient" not in ran(back)
    assert line.read_report("registration")["version"] == "1"  # the same bundle is the same version


def test_rejected_data_cannot_be_trained_on(line: Checkout, first: str) -> None:
    line.replace("params.yaml", "max_abs_x: 1.0", "max_abs_x: 0.5")
    done = line.run("dvc", "repro", code=None)
    assert done.returncode != 0
    assert "range" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert not any(stage.startswith("train") for stage in ran(done.stdout))
    examined = line.run("plumbline", "doctor").stdout
    assert "warn outputs: reports/validation.json is the record of a refusal" in examined
    line.replace("params.yaml", "max_abs_x: 0.5", "max_abs_x: 1.0")
    line.run("dvc", "repro")


def test_a_refusal_registers_nothing_and_fails_the_run(line: Checkout, first: str) -> None:
    line.replace("params.yaml", "floor: 0.1", "floor: 0.0001")
    done = line.run("dvc", "repro", code=None)
    assert done.returncode != 0
    assert "refused, nothing was registered" in done.stderr
    assert line.read_report("registration")["version"] is None
    assert (
        line.run(sys.executable, "-P", "pipelines/register.py", code=20).stderr.count("  floor: ")
        == 1
    )
    line.replace("params.yaml", "floor: 0.0001", "floor: 0.1")
    line.run("dvc", "repro")
    assert line.read_report("registration")["version"] == "1"
