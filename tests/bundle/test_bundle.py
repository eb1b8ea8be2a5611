"""A bundle opens only if it is, file by file, what was sealed."""

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.support.checkouts import LINE

from plumbline import bundle
from plumbline.contract.errors import BundleError
from plumbline.contract.task import Field, Metric, Signature, Task

TASK = Task(
    name="line",
    package="tasks.line",
    metric=Metric("squared_error", False, "continuous"),
    signature=Signature((Field("x", "double"),), (Field("y", "double"),)),
    example={"x": [0.5]},
    faulty={"no number": {"x": [None]}},
    predictor=LINE / "predictor.py",
    requirements=(),
)


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.json").write_text('{"slope": 2.0, "intercept": 1.0}', encoding="utf-8")
    bundle.seal(folder, TASK, "closed")
    return folder


def test_it_answers(sealed: Path) -> None:
    assert bundle.load(sealed).predict({"x": [0.0, 1.0]}) == {"y": [1.0, 3.0]}
    assert bundle.verify(sealed)["candidate"] == "closed"
    assert not list(sealed.rglob("__pycache__"))


def test_the_digest_is_of_content_alone(sealed: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(sealed, tmp_path / "elsewhere")
    os.utime(copy / "weights.json", (0, 0))
    assert bundle.digest(copy) == bundle.digest(sealed)


def edit(folder: Path) -> None:
    (folder / "weights.json").write_text('{"slope": 3.0, "intercept": 1.0}', encoding="utf-8")


def edit_code(folder: Path) -> None:
    with (folder / "predictor.py").open("a") as file:
        file.write("\nopen('canary', 'w')\n")


def add(folder: Path) -> None:
    (folder / "extra.json").write_text("{}", encoding="utf-8")


def remove(folder: Path) -> None:
    (folder / "weights.json").unlink()


def cut_seal(folder: Path) -> None:
    (folder / "bundle.json").write_bytes((folder / "bundle.json").read_bytes()[:20])


def no_seal(folder: Path) -> None:
    (folder / "bundle.json").unlink()


def plant_bytecode(folder: Path) -> None:
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "predictor.cpython-311.pyc").write_bytes(b"planted")


def link(folder: Path) -> None:
    (folder / "weights.json").rename(folder.parent / "weights.json")
    (folder / "weights.json").symlink_to(folder.parent / "weights.json")


def name_a_pickle(folder: Path) -> None:
    import pickle

    (folder / "model.pkl").write_bytes(pickle.dumps("planted"))
    seal = json.loads((folder / "bundle.json").read_text())
    from plumbline.process.files import digest_path

    seal["files"]["model.pkl"] = digest_path(folder / "model.pkl")
    (folder / "bundle.json").write_text(json.dumps(seal))


def other_format(folder: Path) -> None:
    seal = json.loads((folder / "bundle.json").read_text()) | {"format": 99}
    (folder / "bundle.json").write_text(json.dumps(seal))


@pytest.mark.parametrize(
    "damage",
    [
        edit,
        edit_code,
        add,
        remove,
        cut_seal,
        no_seal,
        plant_bytecode,
        link,
        name_a_pickle,
        other_format,
    ],
    ids=lambda damage: damage.__name__,
)
def test_damage_is_refused_before_any_code_runs(
    sealed: Path, damage: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    damage(sealed)  # type: ignore[operator]
    with pytest.raises(BundleError, match="model"):
        bundle.load(sealed)
    assert not (tmp_path / "canary").exists()
