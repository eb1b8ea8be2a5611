"""A rehearsal: the package alone, with nothing near it, asked every row again in other calls."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest
from tests.support.racing import TASK, rehearse

from plumbline import bundle
from plumbline.contract.errors import BundleError
from plumbline.contract.task import Task
from plumbline.process.files import write_json
from plumbline.registry.package import rehearsal
from plumbline.registry.package.rehearsal import Call

ODD = """
import json, os, socket, sys
from pathlib import Path

def load(folder, form=None):
    if Path(os.environ.get("HOME", "")).name == "home":  # only in the rehearsal
        loaded(Path(folder))
    return Odd()

def loaded(folder):
    {load}

class Odd:
    forms = ("fp32",)
    def predict(self, columns, **params):
        if None in columns["x"] or not all(isinstance(x, (int, float)) for x in columns["x"]):
            raise ValueError("row 0: no number")
        return {{"y": [self.answer(x, columns["x"]) for x in columns["x"]]}}
    def answer(self, x, row):
        return {answer}
"""
ROWS = [float(number) for number in range(64)]


def build(root: Path, load: str = "pass", answer: str = "2 * x") -> Task:
    """Seal a bundle whose predictor is ODD; return its task."""
    code = root / "predictor.py"
    code.write_text(ODD.format(load=load, answer=answer), encoding="utf-8")
    task = dataclasses.replace(TASK, predictor=code)
    (root / "model").mkdir()
    (root / "model/weights.json").write_text("{}", encoding="utf-8")
    bundle.seal(root / "model", task, "closed")
    write_golden(root, 1.0)
    return task


def write_golden(root: Path, x: float) -> None:
    golden = {"inputs": {"x": [x]}, "params": {}, "outputs": {"y": [2.0]}}
    write_json(root / "golden.json", golden)


def ask(root: Path, task: Task) -> rehearsal.Rehearsal:
    calls = [Call({"x": ROWS}, {}, [json.dumps({"y": 2 * x}) for x in ROWS])]
    return rehearse(root / "model", root / "golden.json", task, calls, {"x": [1e6]}, 10.0)


@pytest.fixture
def here(folder: Path) -> Path:
    """A checkout with held-out examples in it."""
    (folder / "data").mkdir()
    (folder / "data/answers").write_text("2 * x", encoding="utf-8")
    return folder


def test_a_sound_package_repeats_every_row(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "PYTHON", sys.executable)  # no fork: the process is tested
    task = build(here)
    result = ask(here, task)
    assert result.problems == []
    assert (result.num_rows, result.num_singles) == (64, rehearsal.NUM_SINGLES)
    assert 0 <= result.longest_ms < 1000


WRONG = {
    "alone": ("2 * x + (len(row) == 1)", "asked alone"),
    "on its neighbours": ("2 * x + (row[0] == x and x > 1)", "in another order"),
    "on data around": ("2 * x if Path('data/answers').exists() else 0.0", "in another order"),
    "on the environment": ("2 * x + ('SECRET' not in os.environ)", "in another order"),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_answer_that_depends_on_anything_but_the_row_is_seen(
    what: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "known to the checkout")
    answer, problem = WRONG[what]
    task = build(here, answer=answer)
    assert f"{problem}, the packaged model answers" in " ".join(ask(here, task).problems)


def test_a_package_that_answers_what_it_has_to_refuse_is_seen(here: Path) -> None:
    answer_all = "lambda self, columns, **params: {'y': [2 * (x or 0) for x in columns['x']]}"
    task = build(here, load=f"Odd.predict = {answer_all}")
    problems = ask(here, task).problems
    assert len(problems) == len(task.faulty)
    assert all("instead of refusing it" in problem for problem in problems)


def test_a_package_is_imported_only_if_the_task_requires_it(here: Path) -> None:
    task = build(here, load="import yaml, tokenizers")  # MLflow requires yaml
    with pytest.raises(BundleError, match=r"clean process: .*import of tokenizers halted"):
        ask(here, task)
    declared = dataclasses.replace(task, requirements=("tokenizers",))
    assert ask(here, declared).problems == []


def test_a_column_of_another_type_is_named_with_its_remedy(here: Path) -> None:
    task = build(here)
    write_golden(here, 2)
    with pytest.raises(BundleError, match=r"int64 to float64\. `read_inputs` of the task"):
        ask(here, task)


def test_a_package_that_takes_longer_is_refused_with_the_limit(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "FLOOR_S", 1)
    task = build(here, load="import time; time.sleep(60)")
    with pytest.raises(BundleError, match=r"did not answer 64 rows within 4 s"):
        ask(here, task)
