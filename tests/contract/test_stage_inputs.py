"""What a stage verifies before it reads is what dvc.yaml says that it reads."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from plumbline.contract import layout
from plumbline.contract.errors import DamagedFileError
from plumbline.contract.params import Params
from plumbline.contract.parent_watch import DVC_STAGE
from plumbline.contract.recorded_outputs import hash_output
from plumbline.contract.stage_inputs import INPUTS, verify_inputs
from plumbline.contract.task import Task

ROOT = Path(__file__).resolve().parents[2]
STAGES = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
WRITTEN = ("data/", "models", "reports/")


@pytest.mark.parametrize("stage", STAGES)
def test_the_inputs_are_those_of_the_pipeline(stage: str) -> None:
    deps = STAGES[stage].get("do", STAGES[stage])["deps"]
    read = {dep for dep in deps if dep.startswith(WRITTEN)}
    assert {path.as_posix() for path in INPUTS[stage]} == read


def test_other_bytes_than_those_recorded_are_refused(
    line_task: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    params, _ = line_task
    layout.EXAMPLES.mkdir(parents=True)
    (layout.EXAMPLES / "train.csv").write_text("1,2\n")
    layout.MANIFEST.write_text("rows")
    lock = {"stages": {"ingest": {"outs": []}}}
    for path in (layout.EXAMPLES, layout.MANIFEST):
        lock["stages"]["ingest"]["outs"].append({"path": str(path), "md5": hash_output(path)})
    YAML(typ="safe").dump(lock, Path("dvc.lock"))
    monkeypatch.setenv(DVC_STAGE, "train@closed")
    verify_inputs("train", params)
    (layout.EXAMPLES / "train.csv").write_text("1,3\n")
    with pytest.raises(
        DamagedFileError, match=r"data/examples: digest mismatch: dvc\.lock records"
    ):
        verify_inputs("train", params)
    monkeypatch.delenv(DVC_STAGE)
    verify_inputs("train", params)  # nobody keeps dvc.lock up to date
