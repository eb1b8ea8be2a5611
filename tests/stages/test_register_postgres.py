"""A registration heals wherever its PostgreSQL server ended it: one version, one set of entries."""

from collections.abc import Iterator

import pytest
from tests.support.effort import choose_effort
from tests.support.postgres import Server, started
from tests.support.statements import cause_before
from tests.support.winners import evaluate_line, find_running, list_versions, register

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.registry import promotion
from plumbline.registry.reader import find_version
from plumbline.tracking import delivery

END_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
pytestmark = [pytest.mark.slow, pytest.mark.service, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with started() as made:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", made.uri)
        yield made


@pytest.mark.parametrize("fault", ["connections", "server"])
def test_a_registration_heals_wherever_its_server_ended(
    fault: str, server: Server, line_task: tuple[Params, Task]
) -> None:
    """Before every n-th statement or commit; then the same winner is registered again."""

    def end() -> None:
        if fault == "connections":
            server.execute(END_CONNECTIONS)
        else:
            server.stop()
            server.start()

    every = choose_effort(60, 10) if fault == "connections" else choose_effort(100, 50)
    number, slope = 1, 2.0
    refusals: list[str] = []
    while True:
        evaluate_line(*line_task, slope)
        known = list_versions()
        with cause_before(number, end) as met:
            try:
                register(*line_task)
            except PlumblineError as error:
                refusals.append(str(error))
        if not met.is_met:
            break
        register(*line_task)
        (version,) = list_versions() - known
        entries = [entry for entry in promotion.read_history("line") if entry.version == version]
        assert [entry.action for entry in entries] == ["registered"] + ["first"] * (not known)
        digest = bundle.digest(layout.locate_bundle("closed"))
        assert find_version(f"models:/line/{version}").tags["plumbline.bundle"] == digest
        assert delivery.deliver().problem is None
        assert find_running() == []
        number, slope = number + every, slope + 1
    assert refusals
    assert all(len(text.splitlines()) == 1 for text in refusals)
