"""docs/reference/smallest-task.md, followed by script: the files on the page keep the contract."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.support import task_contract
from tests.support.checkouts import LINE, ROOT
from tests.support.own_tasks import forget_own_tasks

from plumbline.contract.loading import load_params, load_task
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.contract.yaml_file import load_yaml

PAGE = (ROOT / "docs/reference/smallest-task.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
YAML_BLOCK = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]


@pytest.fixture
def doubling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Params, Task]:
    """The task on the page, in an otherwise empty repository."""
    for name, code in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code, encoding="utf-8")
    forget_own_tasks(monkeypatch)
    values = load_yaml(LINE / "params.yaml") | YAML(typ="safe").load(YAML_BLOCK)
    values["evaluation"]["slices"] = []
    monkeypatch.chdir(tmp_path)
    with Path("params.yaml").open("w") as file:
        YAML().dump(values, file)
    return load_params(Path("params.yaml")), load_task("doubling")


def test_the_page_names_all_files_of_a_task() -> None:
    parts = [f"{part}/__init__" for part in ("data", "expectations", "models", "scoring")]
    parts += ["params", "predictor", "task"]
    assert set(FILES) == {f"src/tasks/doubling/{part}.py" for part in parts}


@pytest.mark.filterwarnings("ignore")
def test_the_task_on_the_page_keeps_the_contract(doubling: tuple[Params, Task]) -> None:
    task_contract.check(*doubling, "slope")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'raise ValueError(f"row {row}: x: expected a number, found {x!r}")',
            'return {"y": [0.0]}',
            "is answered, and should be refused",
        ),
        (
            "self.slope * x for x",
            "self.slope * x + len(columns['x']) for x",
            "alone than in company",
        ),
        ("import json\n", "import json\nimport plumbline\n", "predictor.py imports plumbline"),
    ],
)
def test_a_task_that_breaks_it_is_told_apart(
    doubling: tuple[Params, Task], old: str, new: str, said: str
) -> None:
    params, task = doubling
    code = task.predictor.read_text(encoding="utf-8")
    assert old in code
    task.predictor.write_text(code.replace(old, new), encoding="utf-8")
    with pytest.raises(AssertionError, match=said):
        task_contract.check(params, task, "slope")


@pytest.mark.filterwarnings("ignore")
def test_the_line_keeps_the_contract(line_task: tuple[Params, Task]) -> None:
    task_contract.check(*line_task, "closed")
