"""A repository of one's own, with nothing of this checkout: only the wheel, beside the packages."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.support.checkouts import get_clean_environment, join_path
from tests.support.tickets import write_tickets

from plumbline.init import wheel

pytestmark = pytest.mark.slow


class OwnRepository:
    """The folder that `plumbline init` made, and an environment that has plumbline's wheel."""

    def __init__(self, path: Path, environment: Path) -> None:
        self.path = path
        self.environment = {
            **get_clean_environment(),
            "PATH": join_path(environment / "bin", Path(sys.executable).parent, os.environ["PATH"]),
            "DVC_NO_ANALYTICS": "true",
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "160",
        }

    def run(self, *command: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            command,
            cwd=cwd or self.path,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        output = f"{done.stdout}\n{done.stderr}"
        assert done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}\n{output}"
        return output


def make_environment(folder: Path) -> Path:
    """Install the wheel alone; the locked packages are those of this Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    built = wheel.write_wheel(folder / "dist")
    command = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install"]
    command += ["--quiet", "--no-deps", "--no-index", str(built)]
    subprocess.run(command, check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    # A path in a .pth adds the packages, but not what is installed there in editable form.
    (site / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> OwnRepository:
    base = tmp_path_factory.mktemp("own")
    environment = make_environment(base / "environment")
    made = OwnRepository(base / "my-router", environment)
    tickets = write_tickets(base / "tickets.csv", 900)
    made.init = made.run(  # type: ignore[attr-defined]
        "plumbline", "init", "my-router", "--data", str(tickets), cwd=base
    )
    (made.path / ".venv").symlink_to(environment)
    (environment / "ready").touch()  # as after `make setup`
    _keep_linear(made.path / "params.yaml")
    made.run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", "linear alone")
    return made


def _keep_linear(params: Path) -> None:
    text = params.read_text()
    head, rest = text.split("  minilm:\n")
    params.write_text(head + "training:" + rest.split("\ntraining:")[1])


def test_a_repository_of_one_s_own_runs_and_passes_its_tests(router: OwnRepository) -> None:
    assert "label: 'queue', 3 classes" in router.init  # type: ignore[attr-defined]
    assert "skipped" in router.run("make", "test")
    first = router.run("make", "run")
    assert "promote: linear may be promoted" in first
    assert "my-router version 1" in first
    second = router.run("make", "run")
    assert "epoch 1/" not in second
    assert "promote: linear may be promoted" in second
    assert "Data and pipelines are up to date" in router.run("dvc", "status")
    (router.path / "tests/behaviour.csv").write_text(
        "text,label\nwhere is the parcel the courier is late,delivery\nreset my password,login\n"
    )
    assert "skipped" not in router.run("make", "test")
    (router.path / "tests/behaviour.csv").write_text("text,label\nreset my password,billing\n")
    with pytest.raises(AssertionError, match="expected billing, found login"):
        router.run("make", "test")


def test_an_upgrade_runs_the_stages_again_and_a_comment_does_not(router: OwnRepository) -> None:
    params, lock = router.path / "params.yaml", router.path / "requirements.lock"
    params.write_text(params.read_text() + "# a comment\n")
    assert "Data and pipelines are up to date" in router.run("dvc", "status")
    before = lock.read_text()
    lock.write_text(before.replace("--hash=sha256:", "--hash=sha256:0", 1))
    changed = router.run("dvc", "status")
    for stage in ("ingest", "validate", "train@linear", "evaluate", "register"):
        assert f"{stage}:" in changed
    lock.write_text(before)


def test_its_code_is_that_of_the_wheel(router: OwnRepository) -> None:
    code = "import plumbline.entrypoint as e; print(e.__file__)"
    assert "environment/lib" in router.run("python", "-c", code)
    assert shutil.which("plumbline", path=router.environment["PATH"].partition(os.pathsep)[0])
