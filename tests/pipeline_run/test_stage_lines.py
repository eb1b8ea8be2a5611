"""What a run says of the stages that DVC brings up to date."""

import json
import re
from pathlib import Path

import pytest
from dvc.repo import Repo
from tests.support.checkouts import ROOT

from plumbline.contract.durations import format_duration
from plumbline.contract.yaml_file import load_yaml
from plumbline.pipeline_run.reproduction import RunRequest, reproduce
from plumbline.pipeline_run.stage_lines import StageError

PIPELINE = """
stages:
  ingest:
    cmd: cp source data
    deps: [source]
    outs: [data]
  train:
    foreach: [small, large]
    do:
      cmd: cp data ${item}
      deps: [data]
      outs: ["${item}"]
  judge:
    cmd: cat small large > verdict; exit $(cat code)
    deps: [small, large, code]
    outs: [verdict]
"""

pytestmark = pytest.mark.filterwarnings("ignore")  # of DVC's own libraries


@pytest.fixture(autouse=True)
def pipeline(folder: Path) -> None:
    Repo.init(no_scm=True)
    Path("dvc.yaml").write_text(PIPELINE)
    Path("source").write_text("first")
    Path("code").write_text("0")


def test_each_stage_has_a_line_as_it_begins_and_one_as_it_ends(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def run(*targets: str, single_item: bool = False) -> list[str]:
        capfd.readouterr()
        reproduce(RunRequest(targets, single_item=single_item))
        said = capfd.readouterr()
        assert said.err == ""
        return re.sub(r"\d+ s", "1 s", said.out).splitlines()

    names = ("ingest", "train small", "train large", "judge")
    expected = []
    for number, name in enumerate(names, start=1):
        expected += [f"[{number}/4] {name} ...", f"[{number}/4] {name}: done in 1 s"]
    assert sorted(run()) == sorted(expected)  # DVC chooses which of two trainings is first
    (unchanged,) = run()
    assert sorted(unchanged.removeprefix("unchanged: ").split(", ")) == sorted(names)
    Path("large").unlink()
    Path("source").write_text("second")
    run()
    Path("source").write_text("first")
    restored = "computed before, restored from the cache"
    assert run("ingest") == [f"[1/1] ingest: {restored}"]
    Path("data").write_text("other")
    assert run("train@small", single_item=True)[0] == "[1/1] train small ..."


def test_a_stage_that_fails_has_no_last_line(capfd: pytest.CaptureFixture[str]) -> None:
    Path("code").write_text("3")
    with pytest.raises(StageError, match="judge: exit code 3"):
        reproduce(RunRequest())
    assert capfd.readouterr().out.endswith("[4/4] judge ...\n")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (130, "2 min 10 s"), (3900, "1 h 5 min")],
)
def test_a_duration_is_said_as_a_person_says_it(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_dvc_plots_has_a_learning_curve_of_each_training() -> None:
    plots = load_yaml(ROOT / "dvc.yaml")["plots"]
    Path("dvc.yaml").write_text(json.dumps({"plots": plots}), encoding="utf-8")
    curves = Path("reports/training")
    curves.mkdir(parents=True)
    (curves / "linear.csv").write_text("epoch,train/loss,validation/loss\n1,2.0,1.9\n")
    with Repo() as repo:
        shown = repo.plots.show()["workspace"]["definitions"]["data"]["dvc.yaml"]["data"]
    assert shown["reports/training/linear.csv"]["y"] == ["train/loss", "validation/loss"]
