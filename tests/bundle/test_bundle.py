"""A sound bundle answers; test_malicious.py has what is refused."""

import os
import shutil
from pathlib import Path

import pytest
from tests.support.racing import TASK

from plumbline import bundle
from plumbline.contract.errors import BundleError


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.json").write_text('{"slope": 2.0, "intercept": 1.0}', encoding="utf-8")
    (folder / "weights.json").chmod(0o600)  # as safetensors writes it
    bundle.seal(folder, TASK, "closed")
    return folder


def test_it_answers(sealed: Path) -> None:
    assert bundle.load(sealed).predict({"x": [0.0, 1.0]}) == {"y": [1.0, 3.0]}
    assert bundle.verify(sealed)["candidate"] == "closed"
    assert not list(sealed.rglob("__pycache__"))
    assert len({path.stat().st_mode for path in sealed.iterdir()}) == 1  # for an image's user


def test_the_digest_is_of_content_alone(sealed: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(sealed, tmp_path / "elsewhere")
    os.utime(copy / "weights.json", (0, 0))
    assert bundle.digest(copy) == bundle.digest(sealed)


def test_a_folder_without_a_seal_is_no_bundle(sealed: Path) -> None:
    (sealed / bundle.SEAL).unlink()
    with pytest.raises(BundleError, match=r"there is no bundle\.json; train the candidate"):
        bundle.load(sealed)
