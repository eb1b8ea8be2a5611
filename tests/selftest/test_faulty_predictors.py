"""A planted predictor wraps the task's own, be that a file or a package."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.checkouts import LINE
from tests.support.racing import TASK

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import BundleError
from plumbline.contract.task import Task
from plumbline.process.files import write_json
from plumbline_selftest.faulty_predictors import (
    find_task_predictor,
    plant_predictor,
    wrap_predictor,
)

FAULTY = "def wrap(sound, config):\n    sound.slope = config['slope']\n    return sound\n"


@pytest.fixture(params=["a file", "a package"])
def task(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    """The task of a line, with two candidates in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "faulty.py").write_text(FAULTY, encoding="utf-8")
    task = TASK
    if request.param == "a package":
        (tmp_path / "code").mkdir()
        shutil.copy(LINE / "predictor.py", tmp_path / "code/answers.py")
        (tmp_path / "code/__init__.py").write_text("from .answers import load\n", encoding="utf-8")
        task = replace(TASK, predictor=tmp_path / "code")
    for candidate in ("one", "two"):
        folder = layout.locate_bundle(candidate)
        folder.mkdir(parents=True)
        write_json(folder / "weights.json", {"slope": 2.0, "intercept": 1.0})
        bundle.seal(folder, task, candidate)
    return task


def test_the_wrapper_is_the_predictor_of_the_task(task: Task) -> None:
    wrap_predictor(task, "one", Path("faulty.py"), {"slope": 5.0})
    wrapped = find_task_predictor(task)
    slopes = []
    for candidate in ("one", "two"):
        predictor = bundle.load(layout.locate_bundle(candidate), task=wrapped)
        slopes.append(predictor.predict({"x": [1.0]})["y"][0] - 1.0)
    assert slopes == [5.0, 2.0]


def test_a_foreign_predictor_is_not_that_of_the_task(task: Task) -> None:
    plant_predictor(task, "one", Path("faulty.py"), {"slope": 5.0})
    folder = layout.locate_bundle("one")
    assert bundle.load(folder).predict({"x": [1.0]}) == {"y": [6.0]}
    with pytest.raises(BundleError, match="predictor digest mismatch"):
        bundle.check_code(folder, find_task_predictor(task))
