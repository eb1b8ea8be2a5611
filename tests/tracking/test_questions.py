"""MLflow's API answers the questions of docs/reference/mlflow.md."""

import re
import shutil
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT
from tests.support.serving.lines import Lines

from plumbline.contract import layout
from plumbline.process.files import read_json
from plumbline.registry.model_versions import CUT
from plumbline.tracking import mlflow_client

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries


def read_questions() -> str:
    """The code of docs/reference/mlflow.md, asked of the line's registry."""
    page = (ROOT / "docs/reference/mlflow.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    asked = code.replace("ticket-router", "line")
    return asked.replace("test/accuracy` > 0.9", "test/squared_error` < 0.9").replace(
        "test/accuracy", "test/squared_error"
    )


def ask(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines that the questions print."""
    mlflow_client.connect()
    capsys.readouterr()
    exec(compile(read_questions(), "docs/reference/mlflow.md", "exec"), {})  # noqa: S102
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def told(template: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The registry that the tests of serving share, with what its stages logged."""
    lines = Lines(folder)
    (folder / "mlruns").mkdir()
    for database in (template / "mlruns").glob("*.db"):
        shutil.copy2(database, folder / "mlruns")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", lines.environment["MLFLOW_TRACKING_URI"])
    return folder


def test_the_questions_are_answered_on_sqlite(
    told: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = ask(capsys)
    assert sorted(line for line in answers if line.startswith("good")) == [
        f"good: line {number}" for number in (1, 2, 3, 4)
    ]
    (data,) = [line for line in answers if line.startswith("data")]
    assert re.match(r"data: line [0-9a-f]{36} .*\"num_test\": ", data)
    passes = [line for line in answers if line.startswith("pass")]
    assert len(passes) == 4
    assert all(line.startswith("pass: line") for line in passes)
    (stage,) = [line for line in answers if line.startswith("stage: register")]
    assert " FINISHED " in stage
    assert int(stage.split()[-1]) > 10  # gates that passed


def test_a_version_says_what_it_is(told: Path) -> None:
    client = mlflow_client.connect()
    version = client.get_model_version("line", "1")
    assert version.description.startswith("# Model card: line")
    assert version.tags["plumbline.verdict"] == "promote"
    run = client.get_run(version.run_id)
    assert run.data.tags["mlflow.parentRunId"]
    assert run.data.tags["mlflow.user"]
    model = client.get_logged_model(version.model_id or version.source.removeprefix("models:/"))
    metrics = {metric.key: metric.value for metric in model.metrics}
    evidence = read_json(Path(run.info.artifact_uri.removeprefix("file://")) / "evidence.json")
    scores = evidence["candidates"][evidence["winner"]]["test"]
    assert metrics["test/squared_error"] == scores["squared_error"]
    assert metrics["gate/floor"] == 1.0
    card = Path(model.artifact_location.removeprefix("file://")) / layout.MODEL_CARD.name
    written = card.read_text(encoding="utf-8").partition("\n---\n")[2]  # after its YAML
    assert written.strip().startswith(version.description.removesuffix(CUT))
