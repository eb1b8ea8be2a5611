"""A predictor may be a package: the folder `predictor/` of a bundle."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlflow
import pytest
from tests.support.checkouts import LINE
from tests.support.evidence import leave_winner
from tests.support.racing import TASK
from tests.support.serving.lines import Lines, serving
from tests.support.serving.models import line_task

from plumbline import bundle
from plumbline.contract.errors import BundleError, ParamsError
from plumbline.contract.task import Task
from plumbline.entrypoint import run_tracked
from plumbline.process.files import digest_path

CODE = {
    "__init__.py": "from .answers import load\n",
    "answers.py": "from .checks import check\n" + (LINE / "predictor.py").read_text("utf-8"),
    "checks.py": "def check(number):\n    from .Words import WORDS\n    return number, WORDS\n",
    "Words.py": "WORDS = ('slope', 'intercept')\n",
}
WEIGHTS = {"slope": 2.0, "intercept": 1.0}


def write_code(folder: Path) -> Path:
    folder.mkdir()
    for name, text in CODE.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return replace(TASK, predictor=write_code(tmp_path / "predictor"))


@pytest.fixture
def sealed(tmp_path: Path, task: Task) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.json").write_text(json.dumps(WEIGHTS), encoding="utf-8")
    bundle.seal(folder, task, "closed")
    return folder


def reseal(folder: Path) -> None:
    """Make the seal agree with what is in the folder, as an attacker can."""
    seal = json.loads((folder / bundle.SEAL).read_text())
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != bundle.SEAL]
    seal["files"] = {path.relative_to(folder).as_posix(): digest_path(path) for path in files}
    (folder / bundle.SEAL).write_text(json.dumps(seal))


def test_it_answers_and_leaves_no_bytecode(sealed: Path, task: Task) -> None:
    assert bundle.load(sealed, task=task).predict({"x": [0.0, 1.0]}) == {"y": [1.0, 3.0]}
    assert {f"predictor/{name}" for name in CODE} < set(bundle.verify(sealed)["files"])
    assert not list(sealed.rglob("__pycache__"))


def test_each_bundle_has_its_own_modules(sealed: Path, tmp_path: Path) -> None:
    other = shutil.copytree(sealed, tmp_path / "other")
    (other / "predictor/Words.py").write_text("WORDS = ()\n", encoding="utf-8")
    reseal(other)
    loaded: list[Any] = [bundle.load(folder) for folder in (sealed, other)]
    assert [model.__class__.__init__.__globals__["check"](1)[1] for model in loaded] == [
        ("slope", "intercept"),
        (),
    ]


def change_a_module(folder: Path) -> str:
    (folder / "predictor/Words.py").write_text("WORDS = ()\n", encoding="utf-8")
    return "predictor/Words.py: changed"


def add_a_module(folder: Path) -> str:
    (folder / "predictor/json.py").write_text("", encoding="utf-8")
    return "predictor/json.py: does not belong"


def remove_a_module(folder: Path) -> str:
    (folder / "predictor/Words.py").unlink()
    return "predictor/Words.py: missing"


def link_the_folder(folder: Path) -> str:
    (folder / "predictor").rename(folder.parent / "elsewhere")
    (folder / "predictor").symlink_to(folder.parent / "elsewhere")
    return "predictor: a link"


def add_a_file_in_front(folder: Path) -> str:
    shutil.copy(LINE / "predictor.py", folder)
    reseal(folder)
    return "predictor.py and predictor/ are both there"


def remove_the_first_module(folder: Path) -> str:
    (folder / "predictor/__init__.py").unlink()
    reseal(folder)
    return "there is no predictor.py and no predictor/__init__.py"


def seal_other_kinds(folder: Path) -> str:
    (folder / "predictor/words.json").write_text("{}", encoding="utf-8")
    reseal(folder)
    return "'predictor/words.json' is not a valid file name"


@pytest.mark.parametrize(
    "damage",
    [
        change_a_module,
        add_a_module,
        remove_a_module,
        link_the_folder,
        add_a_file_in_front,
        remove_the_first_module,
        seal_other_kinds,
    ],
    ids=lambda damage: damage.__name__,
)
def test_it_is_refused(sealed: Path, damage: Callable[[Path], str]) -> None:
    with pytest.raises(BundleError, match=damage(sealed)):
        bundle.load(sealed)


@pytest.mark.parametrize("damage", [change_a_module, add_a_module, remove_a_module])
def test_only_the_code_of_the_task_runs(
    sealed: Path, task: Task, damage: Callable[[Path], str]
) -> None:
    file, _ = damage(sealed).split(": ")
    reseal(sealed)
    with pytest.raises(BundleError, match=f"{file}: predictor digest mismatch"):
        bundle.check_code(sealed, task)


def test_a_folder_in_it_is_refused_before_a_run(task: Task) -> None:
    """It was left out of the bundle, and missing when `evaluate` asked the trained model."""
    (task.predictor / "deep").mkdir()
    (task.predictor / "deep/words.py").touch()
    with pytest.raises(ParamsError, match=r"predictor/deep/words\.py: .* move it up"):
        replace(task)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # MLflow, in this process, warns about its own libraries
def test_it_is_registered_and_served_as_one_file_is(tmp_path: Path) -> None:
    lines = Lines(tmp_path / "line")
    lines.path.mkdir()
    with pytest.MonkeyPatch.context() as patch, lines.here():
        params, task = line_task(patch)
        packed = replace(task, predictor=write_code(tmp_path / "predictor"))
        golden = {"inputs": {"x": [0.0, 1.0]}, "params": {}, "outputs": {"y": [1.0, 3.0]}}
        leave_winner(params, packed, WEIGHTS, golden)
        run_tracked("register", params, packed)
        mlflow.set_tracking_uri(lines.environment["MLFLOW_TRACKING_URI"])
        model = mlflow.pyfunc.load_model("models:/line/1")
        assert list(model.predict({"x": [2.0]}).y) == [5.0]
    with serving(lines) as server:
        assert server.predict(2.0)[0] == 200
    (module,) = lines.path.rglob("mlruns/**/bundle/predictor/Words.py")
    assert not list(module.parent.rglob("__pycache__"))
    module.write_text("WORDS = ()\n", encoding="utf-8")
    with pytest.raises(BundleError, match=r"predictor/Words\.py: changed"):
        bundle.verify(module.parents[1])
