"""docker/compose.yaml as a whole, with two servers: each container killed in turn, networks parted.

A model is trained in a container, registered with MLflow on PostgreSQL and an S3 store, promoted
and served, as docs/images.md says.
"""

import json
from collections.abc import Iterator

import pytest
from tests.support.checkouts import Checkout
from tests.support.containers import (
    BOTH,
    ENGINE,
    FIRST,
    MONITORING,
    REQUEST,
    SECOND,
    Team,
    wait_until,
)

pytestmark = [pytest.mark.cluster, ENGINE]
MODEL = "line"
SERVERS = (FIRST, SECOND)


@pytest.fixture(scope="module")
def team(line: Checkout) -> Iterator[Team]:
    """All services, a champion that a container has trained, and a second version."""
    made = Team(line)
    try:
        made.start(f"models:/{MODEL}@champion")
        made.train("plumbline", "run")
        line.replace("params.yaml", "num_rows: 600", "num_rows: 900")
        line.run("git", "commit", "-qam", "more rows")
        made.train("plumbline", "run")
        wait_until(lambda: serve_same(made, "1"), "both servers answer from version 1")
        yield made
    finally:
        made.end()


def serve_same(team: Team, version: str) -> bool:
    team.ask(BOTH, body=REQUEST)
    return [team.find_version(port) for port in SERVERS] == [version, version]


def decide(team: Team, version: str, expected: str, code: int | None = 0) -> str:
    words = ("plumbline", "promote", MODEL, version, "--expect", expected)
    return team.train(*words, "--override", "--reason", "a test", code=code)


def read_journal(team: Team) -> str:
    return team.train("plumbline", "journal", MODEL)


def test_what_a_container_trained_is_registered_promoted_and_served(team: Team) -> None:
    registered = json.loads((team.path / "reports/registration.json").read_text())
    assert (registered["model"], registered["version"]) == (MODEL, "2")
    assert "promote" in read_journal(team)
    answer = team.ask(BOTH, body=REQUEST)["predictions"][0]["y"]
    assert answer == pytest.approx(2.0, abs=0.1)


def test_prometheus_reads_the_metrics(team: Team) -> None:
    def is_scraped() -> bool:
        targets = team.ask(MONITORING, "/api/v1/targets")["data"]["activeTargets"]
        return [target["health"] for target in targets] == ["up"]

    wait_until(is_scraped, "the server's metrics are read")


@pytest.mark.parametrize("service", ["postgres", "s3", "mlflow", "prometheus", "serve", "serve-2"])
def test_a_killed_container_costs_no_answer_and_loses_nothing(team: Team, service: str) -> None:
    before = read_journal(team)
    with team.keep_asking() as failures:
        team.kill(service)
        wait_until(lambda: bool(team.ask(BOTH, body=REQUEST)), "the balancer answers")
        team.restart(service)
        wait_until(lambda: serve_same(team, "1"), "both servers answer from version 1")
    assert failures == []
    wait_until(lambda: read_journal(team) == before, "the journal is as before")
    team.train("plumbline", "doctor", "--full")


def test_servers_that_are_cut_off_keep_answering_and_follow_later(team: Team) -> None:
    with team.keep_asking() as failures:
        with team.cut_off("mlflow", "served"), team.cut_off("postgres", "journal"):
            said = decide(team, "2", "1", code=1)
            assert "Traceback" not in said
            assert [team.find_version(port) for port in SERVERS] == ["1", "1"]
        decide(team, "2", "1")
        wait_until(lambda: serve_same(team, "2"), "both servers answer from version 2")
        decide(team, "1", "2")
        wait_until(lambda: serve_same(team, "1"), "both servers answer from version 1")
    assert failures == []
