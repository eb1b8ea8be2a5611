"""docker/compose.yaml as a whole, with two servers: each container killed in turn, networks parted.

A model is trained in a container, registered with MLflow on PostgreSQL and an S3 store, promoted
and served, as docs/how-to/images.md says.
"""

import json
import re
import secrets
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkouts import Checkout
from tests.support.containers import (
    CLUSTER,
    ENGINE,
    IMAGE_TOOLS,
    USER_ID,
    Services,
    build_images,
    find_compose,
    run,
)
from tests.support.loopback import wait_until

pytestmark = [pytest.mark.cluster, ENGINE]
MODEL = "line"
SERVERS = (8000, 8001)  # their ports,
BOTH = 8080  # and that of the balancer
MONITORING = 9090
CANARY = f"canary-{secrets.token_hex(16)}"
PAUSE_S = 0.05
REQUEST = {"inputs": {"x": [0.5]}}  # of the line task, whose answer is about 2


class Team(Services):
    """A registry for a team (docs/how-to/images.md) of one checkout, with a second server."""

    def __init__(self, checkout: Checkout) -> None:
        stand_ins = [CLUSTER / "standins.yaml"] if IMAGE_TOOLS.exists() else []
        shipped = checkout.path / "docker/compose.yaml"
        super().__init__(checkout, shipped, CLUSTER / "team.yaml", *stand_ins)
        self.token = ""

    def start(self, model: str) -> None:
        """Make passwords and images; start all services."""
        run("bash", str(self.path / "docker/secrets.sh"))
        (self.path / "src/.env").write_text(CANARY)
        self.token = (self.path / "docker/secrets/token").read_text()
        settings = self.path / "docker/.env"
        chosen = re.sub("MODEL=.*", f"MODEL={model}", settings.read_text())
        settings.write_text(f"{chosen}USER_ID={USER_ID}\n")
        if find_compose() == ("docker-compose",):  # version 1 does not know the key `name`
            file = self.path / "docker/compose.yaml"
            file.write_text(file.read_text().replace("name: plumbline\n", "", 1))
        build_images(self.path)
        self.compose("up", "--detach", "--no-build")

    def train(self, *command: str, code: int | None = 0) -> str:
        """Run a command in a container of the training image, on the checkout."""
        return self.compose("run", "--rm", "-T", "train", *command, code=code)

    def ask(self, port: int, path: str = "/invocations", body: object = None) -> Any:
        """Ask a server or the balancer; raises OSError for another status than 200."""
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Host": "serve",  # servers refuse the name of a port that is not theirs
        }
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 (http alone)
            return json.load(answer)

    def find_version(self, port: int) -> str:
        """Return the version that a server answers from."""
        return str(self.ask(port, "/v2/models/line")["versions"][0])

    @contextmanager
    def keep_asking(self) -> Iterator[list[str]]:
        """Ask the balancer all the time; give the list that failures are written to."""
        failures: list[str] = []
        stop = threading.Event()

        def ask_again() -> None:
            while not stop.wait(PAUSE_S):
                try:
                    answer = self.ask(BOTH, body=REQUEST)["predictions"][0]["y"]
                except OSError as error:
                    failures.append(str(error))
                else:
                    if abs(answer - 2) > 0.1:
                        failures.append(f"{answer} is not 2")

        thread = threading.Thread(target=ask_again)
        thread.start()
        try:
            yield failures
        finally:
            stop.set()
            thread.join()


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


def read_journal(team: Team, code: int | None = 0) -> str:
    return team.train("plumbline", "journal", MODEL, code=code)


def test_what_a_container_trained_is_registered_promoted_and_served(team: Team) -> None:
    registered = Checkout(team.path).read_report("registration")
    assert (registered["model"], registered["version"]) == (MODEL, "2")
    assert "promote" in read_journal(team)
    answer = team.ask(BOTH, body=REQUEST)["predictions"][0]["y"]
    assert answer == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    ("name", "held"), [("serve", "class VerifiedModelCache"), ("train", "[build-system]")]
)
def test_an_image_runs_as_nobody_and_holds_no_secret(
    team: Team, name: str, held: str, tmp_path: Path
) -> None:
    image, archive = f"plumbline-{name}", tmp_path / "files.tar"
    asked = ("docker", "image", "inspect", "--format", "{{.Config.User}}", image)
    assert run(*asked).strip() == "10001:10001"
    container = run("docker", "create", image).split()[0]
    run("docker", "export", "--output", str(archive), container)
    run("docker", "rm", container)
    content = archive.read_bytes() + run("docker", "history", "--no-trunc", image).encode()
    assert held.encode() in content  # it can be searched
    for secret in (team.token, CANARY):
        assert secret.encode() not in content


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
    wait_until(lambda: read_journal(team, code=None) == before, "the journal is as before")
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
