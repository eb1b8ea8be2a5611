"""The registry that the tests of serving share."""

from pathlib import Path

import pytest
from tests.support.made_once import make_once
from tests.support.racing import copy_databases
from tests.support.serving.lines import Lines, make
from tests.support.serving.load import read_history
from tests.support.serving.models import line_task, make_wide


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A registry with four versions of a line, made once for all processes that run tests."""
    with pytest.MonkeyPatch.context() as patch:
        return make_once(
            tmp_path_factory,
            worker_id,
            "registered-lines",
            lambda folder: make(folder, *line_task(patch)),
        )


@pytest.fixture(scope="session")
def registered(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """That registry for this process alone: its own databases, the same packages."""
    lines = Lines(tmp_path_factory.mktemp("lines"))
    copy_databases(template / "mlruns", lines.path / "mlruns")
    return lines


@pytest.fixture
def lines(registered: Lines, template: Path) -> Lines:
    """That registry, with version 1 as champion and no canary that was returned."""
    if "return" in [entry.action for entry in read_history(registered)]:
        copy_databases(template / "mlruns", registered.path / "mlruns")
    registered.champion("1")
    return registered


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A registry with the model `wide`."""
    return make_wide(tmp_path_factory.mktemp("wide"))
