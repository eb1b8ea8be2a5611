"""The wheel carries all that `plumbline init` writes, and is packed again as it was installed."""

import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT
from tests.support.installed import make_environment

from plumbline.init import repository_files, wheel


@pytest.fixture
def installed(built: Path, tmp_path: Path) -> PathDistribution:
    environment = make_environment(tmp_path / "environment", built)
    return PathDistribution(next(environment.glob("lib/*/site-packages/plumbline-*.dist-info")))


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


@pytest.mark.slow
def test_a_checkout_is_packed_as_setuptools_builds_it(built: Path, tmp_path: Path) -> None:
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    for path in [Path(name) for name in tracked if (ROOT / name).is_file()]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, tmp_path / path)
    code = "from setuptools.build_meta import build_wheel; build_wheel('dist')"
    subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, check=True, capture_output=True
    )
    (wheel_of_setuptools,) = (tmp_path / "dist").glob("*.whl")
    ours, theirs = read(built), read(wheel_of_setuptools)
    for name in ("METADATA", "RECORD"):  # METADATA is as old as the installation
        del ours[f"plumbline-0.1.0.dist-info/{name}"], theirs[f"plumbline-0.1.0.dist-info/{name}"]
    assert ours == theirs


def test_what_is_installed_is_packed_again(
    built: Path, installed: PathDistribution, tmp_path: Path
) -> None:
    packed = wheel.pack(installed, tmp_path, {})
    again = wheel.pack(installed, tmp_path / "again", {})
    assert packed.name == built.name
    assert packed.read_bytes() == again.read_bytes()
    assert wheel.digest_contents(packed) == wheel.digest_contents(built)
    record = "plumbline-0.1.0.dist-info/RECORD"
    before, after = read(built), read(packed)
    assert sorted(before.pop(record).splitlines()) == sorted(after.pop(record).splitlines())
    assert before == after
