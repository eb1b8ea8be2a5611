"""Checkouts shared by the tests of a module."""

import gc
import os
import shutil
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from execnet import XSpec
from tests.support import checkouts
from tests.support.checkouts import LINE, ROOT, Checkout, make_checkout
from tests.support.warm import commands

from plumbline.registry.package import rehearsal

FEW_OBJECTS = 100_000  # that are not frozen yet: a collection of these takes hundredths of a second

pytest_plugins = [
    "tests.support.budget",
    "tests.support.installed",
    "tests.support.serving.models",
    "tests.support.tracked_runs",
]

# A shell ignores it in what it starts in the background, and so would all that is started here.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import all tests without a look for garbage, of which imports leave little.

    Each look at all that was imported so far would take a quarter of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[XSpec]) -> None:
    """Let all processes of `pytest -n` begin as forks of one that has imported the libraries."""
    if commands.can_be_used():
        folder: Path = config._tmp_path_factory.getbasetemp() / "warm"  # type: ignore[attr-defined]
        commands.start(folder)
        for spec in specs:
            spec.python = str(folder / "bin/worker")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let MLflow warn about its own libraries in the rooms whose tests call it in this process."""
    for item in items:
        if item.path.parent.name in ("outcomes", "registry", "scoring", "serving"):
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(scope="session", autouse=True)
def warm_commands(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> None:
    """Let the commands of scratch checkouts start fast in the processes of `pytest -n`."""
    if commands.can_be_used() and worker_id != "master":
        folder = tmp_path_factory.getbasetemp().parent / "warm/bin"
        checkouts.warm_commands[:] = [folder]
        rehearsal.PYTHON = str(folder / "python")


@pytest.fixture(scope="session", autouse=True)
def spark_settings() -> Generator[None, None, None]:
    """Let Spark take the settings of tests/support/spark, here and in what tests start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(ROOT / "tests/support/spark"))
        yield


@pytest.fixture(scope="module", autouse=True)
def own_store() -> None:
    """Forget where the module before it tracked: MLflow writes its address to the environment."""
    os.environ.pop("MLFLOW_TRACKING_URI", None)


@pytest.fixture(scope="module", autouse=True)
def frozen_heap() -> None:
    """Let collections of garbage pass over what lives for as long as the process: the libraries.

    Each full one would take half a second otherwise.
    """
    if len(gc.get_objects()) > FEW_OBJECTS:
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The repository as it is."""
    made = make_checkout(tmp_path_factory.mktemp("checkout"))
    made.commit("start")
    return made


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The repository with all that a new task needs: a folder under tasks/, and params.yaml."""
    made = make_checkout(tmp_path_factory.mktemp("line"))
    shutil.copytree(
        LINE,
        made.path / "src/tasks/line",
        ignore=shutil.ignore_patterns("params.yaml", "__pycache__"),
    )
    shutil.copy2(LINE / "params.yaml", made.path / "params.yaml")
    made.commit("a line")
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the cwd."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
