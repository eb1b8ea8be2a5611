"""Services of tests/cluster in containers, and their images."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT, Checkout

CLUSTER = ROOT / "tests/cluster"
PROJECT = "plumbline-test"
IMAGES = ("serve", "mlflow", "train")
# A folder with base-image.sh, where no registry of images can be reached.
IMAGE_TOOLS = Path(os.environ.get("PLUMBLINE_IMAGE_TOOLS") or "/nonexistent")
USER_ID = f"{os.getuid()}:{os.getgid()}"


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
