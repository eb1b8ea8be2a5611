"""The wheel carries all that `plumbline init` writes, and is packed again as it was installed."""

import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT
from tests.support.installed import build_once, install_wheel
from tests.support.other_plumbline import write_other_wheel

from plumbline.init import repository_files, wheel


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    return build_once(tmp_path_factory, worker_id)


@pytest.fixture
def installed(built: Path, tmp_path: Path) -> PathDistribution:
    site = install_wheel(built, tmp_path / "site")
    return PathDistribution(next(site.glob("*.dist-info")))


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_the_files_of_the_repository(built: Path) -> None:
    files = read(built)
    carried = repository_files.list_carried(ROOT)
    assert {Path("dvc.yaml"), Path("template/README.md")} <= set(carried)
    for path in carried:
        content = files[f"plumbline/init/repository/{path.as_posix()}"]
        assert content == (ROOT / path).read_bytes()
    code = {
        path for path in (ROOT / "src").glob("plumbline*/**/*") if path.suffix not in (".pyc", "")
    }
    for path in code:
        if path.is_file() and ".egg-info" not in str(path):
            assert path.relative_to(ROOT / "src").as_posix() in files


def test_what_is_installed_is_packed_again(
    built: Path, installed: PathDistribution, tmp_path: Path
) -> None:
    packed = wheel.pack(installed, tmp_path)
    again = wheel.pack(installed, tmp_path / "again")
    assert packed.name == built.name
    assert packed.read_bytes() == again.read_bytes()
    assert wheel.digest_contents(packed) == wheel.digest_contents(built)
    record = "plumbline-0.1.0.dist-info/RECORD"
    before, after = read(built), read(packed)
    assert sorted(before.pop(record).splitlines()) == sorted(after.pop(record).splitlines())
    assert before == after


def test_another_file_is_another_digest_of_the_contents(built: Path, tmp_path: Path) -> None:
    changes = {"plumbline/__init__.py": [("data goes in", "data come in")]}
    other = write_other_wheel(built, tmp_path, "0.1.0", changes)
    assert other.name == built.name
    assert wheel.digest_contents(other) != wheel.digest_contents(built)
