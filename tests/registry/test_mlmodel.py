"""The package around a bundle, as MLflow itself loads and evaluates it."""

import shutil
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from tests.support.racing import TASK

from plumbline import bundle
from plumbline.process.files import write_json
from plumbline.registry.model_versions import CUT, MAX_DESCRIPTION, build_description
from plumbline.registry.package import clean_process, packaging


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
    (root / "described").mkdir()
    described = packaging.describe_package(
        root / "model", root / "golden.json", TASK, root / "described"
    )
    mlflow.pyfunc.save_model(str(root / "package"), **clean_process.build_arguments(described))
    return root


@pytest.fixture
def package(saved: Path, folder: Path) -> Path:
    return shutil.copytree(saved / "package", folder / "package")


def test_answers_have_the_index_of_the_rows(package: Path) -> None:
    model = mlflow.pyfunc.load_model(str(package))
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "id": ["a", "b", "c", "d"]})
    chosen = [table[table.x > 1.0], table.sample(3, random_state=1), table.set_index("id")]
    for rows in [*chosen, pd.concat([table, table])]:
        answers = model.predict(rows[["x"]])
        assert answers.index.equals(rows.index)
        assert list(answers.y) == list(2 * rows.x)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_mlflow_itself_evaluates_it(package: Path, tmp_path: Path, kind: str) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    rows = pd.DataFrame({"x": [0.0, 1.0, 2.0] * 4, "right": [0.0, 2.0, 2.0] * 4})
    done = mlflow.models.evaluate(str(package), rows, targets="right", model_type=kind)
    if kind == "classifier":
        assert done.metrics["accuracy_score"] == pytest.approx(2 / 3)
    else:
        assert done.metrics["mean_absolute_error"] == pytest.approx(2 / 3)


CARD = "# Model card\n\nshort\n"
LONG = CARD + "| accuracy | 0.9 |\n" * 500


def test_a_card_that_is_too_long_is_cut_after_a_line_and_says_where_the_rest_is() -> None:
    assert build_description(CARD) == CARD
    assert build_description(f"---\nmodel-index:\n- name: a\n---\n{CARD}") == CARD
    shown = build_description(LONG)
    assert MAX_DESCRIPTION - 40 < len(shown) <= MAX_DESCRIPTION
    assert shown.endswith(f"| accuracy | 0.9 |{CUT}")
    assert len(build_description("x" * 6000)) == MAX_DESCRIPTION
