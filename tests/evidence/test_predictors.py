"""Which predictors evaluation opens: those of the task, of the bundle that was named."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.racing import TASK

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import BundleError, DataError, PlumblineError
from plumbline.contract.task import Columns
from plumbline.evidence.predictors import GuardedPredictor, open_bundle
from plumbline.process.files import digest_path, read_json, write_json

CANARY = Path("canary")
FOREIGN = "from pathlib import Path\nPath('canary').touch()\ndef load(folder, form=None): ...\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The bundle of a candidate that is also its own control."""
    monkeypatch.chdir(tmp_path)
    for name in ("closed", layout.name_control("closed")):
        folder = layout.locate_bundle(name)
        folder.mkdir(parents=True)
        (folder / "weights.json").write_text('{"slope": 2, "intercept": 0}', encoding="utf-8")
        bundle.seal(folder, TASK, name)
    return layout.locate_bundle("closed")


def plant_code(folder: Path) -> None:
    """Put another predictor into a bundle, and its digest into the seal."""
    (folder / "predictor.py").write_text(FOREIGN, encoding="utf-8")
    seal = read_json(folder / bundle.SEAL)
    seal["files"]["predictor.py"] = digest_path(folder / "predictor.py")
    write_json(folder / bundle.SEAL, seal)
    bundle.verify(folder)


def test_code_that_is_not_the_tasks_is_never_run(folder: Path) -> None:
    plant_code(folder)
    plant_code(layout.locate_bundle(layout.name_control("closed")))
    for name in ("closed", layout.name_control("closed")):
        with pytest.raises(BundleError, match=r"predictor digest mismatch: expected .*dvc repro"):
            open_bundle(name, TASK, bundle.digest(layout.locate_bundle(name)))
    assert not CANARY.exists()


class Unreadable:
    """Fails as one that fetches its rows again and finds them damaged."""

    forms = ("exact",)

    def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
        raise DataError("data/examples: damaged; run `dvc repro ingest`")


def test_an_error_that_says_what_to_do_is_left_as_it_is() -> None:
    guarded = GuardedPredictor("candidate a", "train it again", Unreadable)
    with pytest.raises(DataError, match=r"^data/examples: damaged; run `dvc repro ingest`$"):
        guarded.predict({"x": [1.0]})


@pytest.mark.parametrize("error", [AttributeError, RuntimeError, ZeroDivisionError])
def test_whatever_fails_while_answers_are_scored_names_the_candidate(
    error: type[Exception],
) -> None:
    guarded = GuardedPredictor("candidate a", "train it again", Unreadable)
    with (
        pytest.raises(PlumblineError, match=rf"candidate a cannot .*{error.__name__}: x"),
        guarded.guard(),
    ):
        raise error("x")
