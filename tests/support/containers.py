"""What tests/cluster starts in containers: a registry for a team with two servers, and Spark."""

import json
import os
import re
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkouts import ROOT, Checkout
from tests.support.development import IMAGE_TOOLS

CLUSTER = ROOT / "tests/cluster"
PROJECT = "plumbline-test"
IMAGES = ("serve", "mlflow", "train")
FIRST, SECOND, BOTH = 8000, 8001, 8080  # ports of the two servers, and of the balancer
MONITORING = 9090
PAUSE_S = 0.05
START_S = 600.0
USER_ID = f"{os.getuid()}:{os.getgid()}"
REQUEST = {"inputs": {"x": [0.5]}}  # of the line task, whose answer is about 2


@cache
def has_engine() -> bool:
    """Whether a container engine answers."""
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


ENGINE = pytest.mark.skipif(not has_engine(), reason="no container engine answers `docker info`")


class Services:
    """Services in containers, of files of Docker Compose."""

    def __init__(self, checkout: Checkout, *files: Path) -> None:
        self.path = checkout.path
        self._files = files

    def compose(self, *words: str, code: int | None = 0) -> str:
        """Run docker compose; return what it said."""
        return run(*self._build_command(*words), code=code)

    def end(self) -> None:
        """Remove containers, networks and volumes."""
        self.compose("down", "--volumes", "--timeout", "1")

    def find_container(self, service: str) -> str:
        """Return the id of a service's container."""
        return self.compose("ps", "--quiet", service).split()[0]

    def kill(self, service: str) -> None:
        """Kill a service as a power cut would; it stays down."""
        run("docker", "kill", self.find_container(service))

    def restart(self, service: str) -> None:
        """Start a service that was killed."""
        run("docker", "start", self.find_container(service))

    @contextmanager
    def cut_off(self, service: str, network: str) -> Iterator[None]:
        """Part a service from a network, and bring it back with its name."""
        container, name = self.find_container(service), f"{PROJECT}_{network}"
        run("docker", "network", "disconnect", name, container)
        try:
            yield
        finally:
            run("docker", "network", "connect", "--alias", service, name, container)

    def _build_command(self, *words: str) -> list[str]:
        files = [f"--file={file}" for file in self._files]
        return [*find_compose(), f"--project-name={PROJECT}", *files, *words]


class Team(Services):
    """What docs/images.md calls a registry for a team, of one checkout, with a second server."""

    def __init__(self, checkout: Checkout) -> None:
        stand_ins = [CLUSTER / "standins.yaml"] if IMAGE_TOOLS.exists() else []
        shipped = checkout.path / "docker/compose.yaml"
        super().__init__(checkout, shipped, CLUSTER / "team.yaml", *stand_ins)
        self._token = ""

    def start(self, model: str) -> None:
        """Make passwords and images; start all services."""
        run("bash", str(self.path / "docker/secrets.sh"))
        self._token = (self.path / "docker/secrets/token").read_text()
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
            "Authorization": f"Bearer {self._token}",
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


class Spark(Services):
    """A Spark cluster of a master and two workers, with a checkout that all of them see."""

    MASTER = "spark://master:7077"

    def __init__(self, checkout: Checkout) -> None:
        super().__init__(checkout, checkout.path / "spark.yaml")

    def start(self) -> None:
        """Make the images; start the cluster."""
        shutil.copy2(CLUSTER / "spark.yaml", self.path)
        (self.path / ".env").write_text(f"USER_ID={USER_ID}\n")
        build_images(self.path)
        build(CLUSTER / "images/spark.Dockerfile", f"{PROJECT}-spark", self.path)
        self.compose("up", "--detach", "--no-build")

    def submit(self, *command: str) -> str:
        """Run a command in a container beside the cluster."""
        return self.compose("run", "--rm", "-T", "submit", *command)

    def start_submit(self, *command: str) -> "subprocess.Popen[str]":
        """Start a command in a container beside the cluster."""
        words = self._build_command("run", "--rm", "-T", "submit", *command)
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_until(is_true: Callable[[], bool], what: str, seconds: float = START_S) -> None:
    """Ask again until it is so; an error of the network is a no."""
    until = time.monotonic() + seconds
    while True:
        try:
            if is_true():
                return
        except (OSError, ValueError):
            pass
        assert time.monotonic() < until, f"after {seconds:.0f} s not yet: {what}"
        time.sleep(0.5)


def run(*command: str, code: int | None = 0) -> str:
    """Run a command; its exit code must be `code` (None: any)."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if code is not None and done.returncode != code:
        pytest.fail(f"{' '.join(command)}: exit {done.returncode}, expected {code}\n{said[-3000:]}")
    return said


@cache
def find_compose() -> tuple[str, ...]:
    """Return the command of Docker Compose: a plugin of the client, or a program of its own."""
    plugin = ("docker", "compose")
    found = subprocess.run([*plugin, "version"], capture_output=True, check=False)
    return plugin if found.returncode == 0 else ("docker-compose",)


def build_images(path: Path) -> None:
    """Build the images of a checkout; where IMAGE_TOOLS says how, those of a registry too."""
    if not IMAGE_TOOLS.exists():
        for name in IMAGES:
            build(path / f"docker/{name}.Dockerfile", f"plumbline-{name}", path)
        base = re.findall("ARG BASE=(.*)", (path / "docker/serve.Dockerfile").read_text())[0]
        _build_stand_in("balancer", base)
        return
    run("bash", str(IMAGE_TOOLS / "base-image.sh"))
    base = f"{PROJECT}-base"
    _build_base(base, path / ".base")
    for name in ("balancer", "postgres", "s3", "prometheus"):
        _build_stand_in(name, base)
    for name in IMAGES:
        arguments = {"BASE": base, "PIP_FIND_LINKS": "/extra-wheels"}
        build(path / f"docker/{name}.Dockerfile", f"plumbline-{name}", path, **arguments)


def build(file: Path, tag: str, context: Path, **arguments: str) -> None:
    """Build one image; its commands use this machine's network, and so its package indexes."""
    settings = [f"--build-arg={name}={value}" for name, value in arguments.items()]
    options = ["--quiet", "--network=host", f"--file={file}", f"--tag={tag}", *settings]
    run("docker", "build", *options, str(context))


def _build_stand_in(name: str, base: str) -> None:
    folder = CLUSTER / "images"
    build(folder / f"{name}.Dockerfile", f"{PROJECT}-{name}", folder, BASE=base)


def _build_base(tag: str, context: Path) -> None:
    """Add this machine's certificates, and its folder of wheels if it has one."""
    wheels = Path(os.environ.get("PIP_FIND_LINKS") or context / "none")
    (context / "wheels").mkdir(parents=True)
    for wheel in wheels.glob("*.whl"):
        shutil.copy2(wheel, context / "wheels")
    shutil.copy2("/etc/ssl/certs/ca-certificates.crt", context / "certificates.crt")
    build(CLUSTER / "images/base.Dockerfile", tag, context)
