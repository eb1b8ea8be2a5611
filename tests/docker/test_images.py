"""The real images: they are built and inspected, a model is trained in one and served by another.

Where an engine runs, `docker build` makes them. Here PLUMBLINE_IMAGE_TOOLS names a folder with
base-image.sh, which makes the base image where no registry of images can be reached, and
build-image.sh FILE TAG CONTEXT, which builds with buildah.
"""

import json
import mmap
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.checkouts import LINE, Checkout, make_checkout
from tests.support.development import IMAGE_TOOLS
from tests.support.loopback import find_free_port, wait_for_server

NEEDED = [
    shutil.which("buildah"),
    shutil.which("debootstrap"),
    (IMAGE_TOOLS / "build-image.sh").exists(),
    os.geteuid() == 0,
]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.image,
    pytest.mark.skipif(
        not all(NEEDED), reason="takes root, buildah, debootstrap and PLUMBLINE_IMAGE_TOOLS"
    ),
]
USER = 10001
MAX_SERVE_MB = 700
CANARY = f"canary-{secrets.token_hex(16)}"
# Where a checkout in use keeps what must not leave it, and the environment of who builds.
PLANTED = (
    ".env",
    "docker/.env",
    "docker/secrets/token",
    ".dvc/config.local",
    "src/.env",
    "mlruns/mlflow.db",
    "data/raw/a.csv",
)
ENVIRONMENT = ("AWS_SECRET_ACCESS_KEY", "MLFLOW_TRACKING_PASSWORD", "PGPASSWORD", "HF_TOKEN")


@dataclass(frozen=True)
class Image:
    """A built image."""

    name: str

    @property
    def config(self) -> dict[str, Any]:
        """What it says of user, command and health."""
        found: dict[str, Any] = json.loads(run("buildah", "inspect", "--type", "image", self.name))
        return dict(found["Docker"]["config"])

    @contextmanager
    def container(self) -> Iterator[str]:
        """One container of it."""
        name = run("buildah", "from", "--pull-never", self.name).strip()
        try:
            yield name
        finally:
            run("buildah", "rm", name)


def run(*command: object, **environment: str) -> str:
    """A command that must succeed; its output."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def inside(
    container: str, *command: str, mounts: tuple[str, ...] = (), **environment: str
) -> list[str]:
    """The command that runs `command` in a container, as its user."""
    volumes = [word for mount in mounts for word in ("--volume", mount)]
    settings = [
        word for name, value in environment.items() for word in ("--env", f"{name}={value}")
    ]
    return ["buildah", "run", "--isolation", "chroot", *volumes, *settings, container, *command]


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout in use."""
    made = make_checkout(tmp_path_factory.mktemp("context"))
    for name in PLANTED:
        (made.path / name).parent.mkdir(parents=True, exist_ok=True)
        (made.path / name).write_text(CANARY, encoding="utf-8")
    made.run("git", "remote", "add", "origin", f"https://user:{CANARY}@example.org/plumbline.git")
    run("bash", IMAGE_TOOLS / "base-image.sh")
    return made


def build(context: Checkout, name: str) -> Image:
    """Build docker/NAME.Dockerfile on the local base image, which has no digest to pin."""
    file = context.path / f"docker/{name}.Dockerfile"
    image = Image(f"localhost/plumbline-test-{name}")
    file.write_text(
        re.sub(r"(?m)^(ARG BASE=.+)@sha256:\w+$", r"\1", file.read_text(encoding="utf-8")),
        encoding="utf-8",
    )
    settings = {"BUILDAH_FORMAT": "docker", "BUILDAH_LAYERS": "true"} | dict.fromkeys(
        ENVIRONMENT, CANARY
    )
    run(
        "bash",
        IMAGE_TOOLS / "build-image.sh",
        file,
        image.name.removeprefix("localhost/"),
        context.path,
        **settings,
    )
    return image


@pytest.fixture(scope="module")
def serve(context: Checkout) -> Image:
    """The serving image."""
    return build(context, "serve")


@pytest.fixture(scope="module")
def train(context: Checkout) -> Image:
    """The training image."""
    return build(context, "train")


@pytest.fixture(scope="module")
def trained(train: Image, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of the line in which the training image has run the pipeline, as its own user."""
    made = make_checkout(tmp_path_factory.mktemp("trained"))
    ignored = shutil.ignore_patterns("params.yaml", "__pycache__")
    shutil.copytree(LINE, made.path / "src/tasks/line", ignore=ignored)
    shutil.copy2(LINE / "params.yaml", made.path / "params.yaml")
    made.run("git", "add", "-A")
    made.run("git", "commit", "-qm", "a line")
    for path in (made.path, *made.path.rglob("*")):
        os.chown(path, USER, USER)
    with train.container() as container:
        run(*inside(container, *train.config["Cmd"], mounts=(f"{made.path}:/project",)))
    return made.path


def test_the_training_image_runs_the_checkouts_pipeline(train: Image, trained: Path) -> None:
    done = json.loads((trained / "reports/registration.json").read_text(encoding="utf-8"))
    assert (done["model"], done["version"]) == ("line", "1")
    assert (trained / "reports/registration.json").stat().st_uid == USER
    with train.container() as container:
        mounted = (f"{trained}:/project",)
        assert "as locked" in run(*inside(container, "plumbline", "doctor", mounts=mounted))
        torch = run(
            *inside(
                container,
                "python",
                "-c",
                "import torch; print(torch.__version__, torch.version.cuda)",
            )
        )
    assert torch.strip() == "2.13.0+cpu None"


@pytest.mark.parametrize("name", ["serve", "train"])
def test_runs_as_nobody_and_holds_no_secret(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    image = request.getfixturevalue(name)
    assert image.config["User"] == f"{USER}:{USER}"
    archive = tmp_path / "image.tar"  # every layer, not compressed, and the history
    run("buildah", "push", image.name, f"docker-archive:{archive}")
    with archive.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as layers:
        assert (
            layers.find(b"[build-system]" if name == "train" else b"class VerifiedModelCache") > 0
        )  # it can be searched
        assert layers.find(CANARY.encode()) == -1
    megabytes = archive.stat().st_size / 1e6
    archive.unlink()
    assert name == "train" or megabytes < MAX_SERVE_MB


def test_the_serving_image_holds_what_serving_takes(serve: Image) -> None:
    with serve.container() as container:
        libraries = (
            Path(run("buildah", "mount", container).strip())
            / "opt/venv/lib/python3.11/site-packages"
        )
        there = {path.name.lower() for path in libraries.iterdir()}
        assert there >= {"plumbline", "onnxruntime", "tokenizers", "pyarrow"}
        assert (
            not {
                "torch",
                "mlflow",
                "pandas",
                "transformers",
                "dvc",
                "pip",
                "setuptools",
                "huggingface_hub",
            }
            & there
        )
        run("buildah", "umount", container)
        run(
            *inside(
                container,
                "python",
                "-c",
                "import plumbline.tasks.text_classification.predictor, pyarrow.parquet",
            )
        )
        assert "models:/NAME@ALIAS" in run(*inside(container, "plumbline", "score", "--help"))


def test_the_serving_image_refuses_to_listen_to_all_without_a_token(serve: Image) -> None:
    with serve.container() as container:
        served = [*serve.config["Entrypoint"], "models:/line@champion"]
        words = inside(container, *served, "--host", "0.0.0.0")  # noqa: S104
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "--token-file" in done.stderr


def test_serves_what_was_trained_writes_only_where_it_may_and_ends_well(
    serve: Image, trained: Path, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(secrets.token_hex(32), encoding="utf-8")
    token.chmod(0o444)
    port, mounts = (
        find_free_port(),
        (f"{trained}/mlruns:/project/mlruns:ro", f"{token}:/run/secrets/token:ro"),
    )
    options = ["--host", "0.0.0.0", "--port", str(port), "--token-file", "/run/secrets/token"]  # noqa: S104
    config = serve.config
    health = [word.replace("8000", str(port)) for word in config["Healthcheck"]["Test"]]
    assert health.pop(0) == "CMD"
    with serve.container() as container:
        root = Path(run("buildah", "mount", container).strip())
        before = written(root)
        command = [*config["Entrypoint"], "models:/line@champion", *options]
        words = inside(
            container,
            *command,
            mounts=mounts,
            MLFLOW_TRACKING_URI="sqlite:////project/mlruns/mlflow.db",
        )
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            try:
                wait_for_server(f"http://127.0.0.1:{port}/ping")
                run(*inside(container, *health))
                body = json.dumps({"inputs": {"x": [0.5]}})
                assert ask(port, "POST", "/invocations", body)[0] == 401
                status, answer = ask(
                    port, "POST", "/invocations", body, authorization=f"Bearer {token.read_text()}"
                )
                assert status == 200, answer
                assert json.loads(answer)["predictions"][0]["y"] == pytest.approx(2.0, abs=0.1)
                server = inner(process)
                assert server.uids().real == USER
                assert written(root) - before <= {
                    Path("run/.containerenv"),
                    Path("run/secrets/token"),
                }  # the engine's
                server.terminate()
                assert process.wait(600) == 0
            finally:
                process.kill()
        run("buildah", "umount", container)
    with pytest.raises(OSError, match="refused"):
        ask(port, "GET", "/ping")


def written(root: Path) -> set[Path]:
    """List a container's files outside of the volumes in compose.yaml: /tmp, copies of models."""
    return {
        path.relative_to(root)
        for top in root.iterdir()
        if top.name not in ("tmp", "proc", "sys", "dev", "project")
        for path in top.rglob("*")
        if not path.is_dir() and "cache/plumbline" not in str(path)
    }


def inner(process: subprocess.Popen[str]) -> psutil.Process:
    """What an engine calls process 1 of a container."""
    found = psutil.Process(process.pid).children(recursive=True)
    (shim,) = [child for child in found if child.cmdline()[:1] == ["buildah-chroot-exec"]]
    (server,) = shim.children()
    return server


def ask(
    port: int, method: str, path: str, body: str | None = None, **headers: str
) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body, {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
