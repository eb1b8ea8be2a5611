"""The package around a bundle: MLflow never sees an MLmodel that names the code of others."""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from tests.support.racing import TASK, save_package

from plumbline import bundle
from plumbline.contract.errors import BundleError
from plumbline.process.files import write_json
from plumbline.registry.package import clean_run, packaging, rehearsal

pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # MLflow, in this process, warns about its own libraries
CANARY = "canary"
EVIL = f"open({CANARY!r}, 'w').close()\ndef _load_pyfunc(path, model_config=None): ...\n"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound package as MLflow writes it."""
    root = tmp_path_factory.mktemp("package")
    (root / "model").mkdir()
    (root / "model/weights.json").write_text('{"slope": 2, "intercept": 0}', encoding="utf-8")
    bundle.seal(root / "model", TASK, "closed")
    write_json(
        root / "golden.json", {"inputs": {"x": [1.0]}, "params": {}, "outputs": {"y": [2.0]}}
    )
    save_package(root / "model", root / "golden.json", TASK, root / "package")
    return root


@pytest.fixture
def package(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(saved / "package", tmp_path / "package")


def test_a_sound_one_answers(package: Path, saved: Path) -> None:
    assert (
        rehearsal.ask_package(
            package, saved / "golden.json", TASK, bundle.digest(saved / "model")
        ).problems
        == []
    )


def test_answers_have_the_index_of_the_rows(package: Path) -> None:
    model = mlflow.pyfunc.load_model(str(package))
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "id": ["a", "b", "c", "d"]})
    chosen = [table[table.x > 1.0], table.sample(3, random_state=1), table.set_index("id")]
    for rows in [*chosen, pd.concat([table, table])]:
        answers = model.predict(rows[["x"]])
        assert answers.index.equals(rows.index)
        assert list(answers.y) == list(2 * rows.x)


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"predictions": "y"}])
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_mlflow_itself_evaluates_it(
    package: Path, tmp_path: Path, kind: str, more: dict[str, str]
) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    rows = pd.DataFrame({"x": [0.0, 1.0, 2.0] * 4, "right": [0.0, 2.0, 2.0] * 4})
    done = mlflow.models.evaluate(str(package), rows, targets="right", model_type=kind, **more)
    if kind == "classifier":
        assert done.metrics["accuracy_score"] == pytest.approx(2 / 3)
    else:
        assert done.metrics["mean_absolute_error"] == pytest.approx(2 / 3)


@pytest.mark.slow
def test_its_memory_is_that_of_the_process_that_answers(
    package: Path, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean_run, "PYTHON", sys.executable)  # no fork: the process is tested
    ballast = b"x" * 1_500_000_000  # of the process that asks
    result = rehearsal.ask_package(
        package, saved / "golden.json", TASK, bundle.digest(saved / "model")
    )
    assert 50 < result.rss_mb < len(ballast) / 1e6


def edit(old: str, new: str) -> Callable[[Path], None]:
    def damage(package: Path) -> None:
        text = (package / "MLmodel").read_text()
        assert re.search(old, text), old
        (package / "MLmodel").write_text(re.sub(old, new, text, count=1))

    return damage


def code_folder(package: Path) -> None:
    (package / "code").mkdir()
    (package / "code/evil.py").write_text(EVIL)


def own_loader(package: Path) -> None:
    (package / "evil.py").write_text(EVIL)
    edit(r"loader_module: \S+", "loader_module: evil")(package)


def other_model_code(package: Path) -> None:
    with (package / "pyfunc.py").open("a") as file:
        file.write(EVIL)


def linked_code(package: Path) -> None:
    (package / "pyfunc.py").rename(package.parent / "pyfunc.py")
    (package / "pyfunc.py").symlink_to(package.parent / "pyfunc.py")


def pickled_model(package: Path) -> None:
    edit(r" *model_code_path: .*\n", "    python_model: ../../x.pkl\n")(package)


def other_bundle(package: Path) -> None:
    (package / "artifacts/bundle/predictor.py").write_text(EVIL)


def another_flavor(package: Path) -> None:
    edit(
        "flavors:\n",
        "flavors:\n  sklearn:\n    pickled_model: ../model.pkl\n    serialization_format: pickle\n",
    )(package)


DAMAGE = {
    "a loader of its own": (own_loader, "evil.py: a link, or does not belong"),
    "a loader that is installed": (
        edit(r"loader_module: \S+", "loader_module: antigravity"),
        "loader_module is 'anti",
    ),
    "a code folder": (code_folder, "code: a link, or does not belong"),
    "a code path": (edit("code: null", "code: ../.."), r"code is '\.\./\.\.'"),
    "a pickled model": (pickled_model, "MLmodel: damaged, or not an MLmodel written by plumbline"),
    "another flavor": (another_flavor, "other flavors"),
    "model code elsewhere": (
        edit(r"model_code_path: .*", "model_code_path: /tmp/evil.py"),
        "model_code_path is 'evil.py'",
    ),
    "other model code": (other_model_code, "pyfunc.py: not the code"),
    "model code that is a link": (linked_code, "pyfunc.py: a link"),
    "an artifact elsewhere": (edit("path: artifacts/bundle", "path: /etc"), "artifacts is"),
    "one more key": (
        edit("streamable: false", "streamable: false\n    config: x.py"),
        "config is 'x.py'",
    ),
    "an environment elsewhere": (edit("conda: conda.yaml", "conda: /tmp/conda.yaml"), "env is"),
    "an object of Python": (
        edit("code: null", "code: !!python/object/apply:os.system ['touch canary']"),
        "damaged",
    ),
    "a key that occurs twice": (edit("code: null", "code: null\n    code: ."), "damaged"),
    "another bundle": (other_bundle, "predictor.py: changed"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_one_is_refused_before_mlflow_sees_it(
    package: Path, saved: Path, name: str, tmp_path: Path
) -> None:
    damage, reason = DAMAGE[name]
    damage(package)
    with pytest.raises(BundleError, match=f"{package}.*{reason}"):
        rehearsal.ask_package(package, saved / "golden.json", TASK, bundle.digest(saved / "model"))
    assert not list(tmp_path.rglob(CANARY))


def test_mlflow_itself_would_run_such_a_loader(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_loader(package)
    monkeypatch.syspath_prepend(str(package))
    with pytest.raises(Exception):  # noqa: B017, PT011  it fails after the code ran
        mlflow.pyfunc.load_model(str(package)).predict([])
    assert (tmp_path / CANARY).exists()
    with pytest.raises(BundleError):
        packaging.check_package(package)
