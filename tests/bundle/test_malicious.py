"""Malicious and damaged bundles: each is refused before its code runs, also if its seal agrees."""

import io
import json
import os
import pickle
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper
from tests.support.racing import TASK

from plumbline import bundle
from plumbline.contract.errors import BundleError
from plumbline.process.files import digest_path

CANARY = "canary"


class Payload:
    """Pickled, it writes the canary into the cwd when it is read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.system, (f"touch {CANARY}",))


def graph() -> onnx.ModelProto:
    """A sound model, y = x + 1."""
    one = helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])  # noqa: E731
    node = helper.make_node("Add", ["x", "one"], ["y"])
    made = helper.make_graph([node], "line", [value("x")], [value("y")], [one])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def tensors(header: Any, data: bytes = b"\0" * 8, length: int | None = None) -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def tensor(
    dtype: str = "F32", shape: Any = (2,), span: Any = (0, 8), **more: Any
) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(span), **more}


@pytest.fixture
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound bundle with a file of each kind; the cwd is where a canary would show."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.json").write_text('{"slope": 2.0, "intercept": 1.0}', encoding="utf-8")
    (folder / "model.onnx").write_bytes(graph().SerializeToString())
    (folder / "model.safetensors").write_bytes(
        tensors({"w": tensor(), "__metadata__": {"format": "pt"}})
    )
    (folder / "weights.json").chmod(0o600)  # as safetensors writes it
    bundle.seal(folder, TASK, "closed")
    return folder


def test_a_sound_one_is_accepted(sealed: Path) -> None:
    assert bundle.load(sealed).predict({"x": [0.0, 1.0]}) == {"y": [1.0, 3.0]}
    assert bundle.read_signature(sealed) == TASK.signature
    assert bundle.verify(sealed)["candidate"] == "closed"
    assert not list(sealed.rglob("__pycache__"))
    assert len({path.stat().st_mode for path in sealed.iterdir()}) == 1  # for an image's user


def test_the_digest_is_of_content_alone(sealed: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(sealed, tmp_path / "elsewhere")
    os.utime(copy / "weights.json", (0, 0))
    assert bundle.digest(copy) == bundle.digest(sealed)


def test_a_folder_without_a_seal_is_no_bundle(sealed: Path) -> None:
    (sealed / bundle.SEAL).unlink()
    with pytest.raises(BundleError, match=r"there is no bundle\.json; train the candidate"):
        bundle.load(sealed)


def reseal(folder: Path, **changes: Any) -> None:
    """Make the seal agree with what is in the folder, as an attacker can, and change it besides."""
    seal = json.loads((folder / bundle.SEAL).read_text())
    names = [path.name for path in folder.iterdir() if path.name != bundle.SEAL]
    seal["files"] = {name: digest_path(folder / name) for name in names}
    (folder / bundle.SEAL).write_text(json.dumps(seal | changes))


def put(name: str, content: bytes) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(content)
        reseal(folder)

    return damage


def archive(content: bytes, name: str = "data.pkl") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr(name, content)
    return made.getvalue()


PICKLE = pickle.dumps(Payload())
CODE = f"open({CANARY!r}, 'w').close()\ndef load(folder, form=None): ...\n".encode()
CONTENT = {
    "a pickle": ("model.pkl", PICKLE),
    "a checkpoint": ("model.pt", archive(PICKLE, "archive/data.pkl")),
    "a shared library": ("ops.so", b"\x7fELF" + b"\0" * 100),
    "a pickle renamed to JSON": ("weights.json", PICKLE),
    "a pickle renamed to safetensors": ("model.safetensors", PICKLE),
    "a pickle renamed to ONNX": ("model.onnx", PICKLE),
    "a pickle renamed to Python": ("predictor.py", PICKLE),
    "Python with a NUL": ("predictor.py", b"# \0\n" + CODE),
    "Python in another encoding": (
        "predictor.py",
        "# -*- coding: utf-7 -*-\n# é".encode("latin-1") + CODE,
    ),
    "a lying length": ("model.safetensors", tensors({"w": tensor()}, length=2**62)),
    "tensors that overlap": (
        "model.safetensors", tensors({"a": tensor(), "b": tensor(span=(4, 12))}, b"\0" * 12)
    ),
    "a pickle behind the tensors": (
        "model.safetensors",
        tensors({"w": tensor()}, b"\0" * 8 + PICKLE),
    ),
    "auto_map": ("config.json", b'{"auto_map": {"AutoModel": "evil.Model"}}'),
    "a target to build": ("config.json", b'{"_target_": "os.system", "command": "touch canary"}'),
    "NaN": ("weights.json", b'{"slope": NaN, "intercept": 1.0}'),
    "a key that occurs twice": ("weights.json", b'{"slope": 2.0, "slope": 3.0}'),
    "JSON that is nested without end": ("weights.json", b"[" * 100_000 + b"]" * 100_000),
    "text that is no UTF-8": ("weights.json", b'{"slope": "\xff"}'),
}  # fmt: skip


def test_the_canary_sings(sealed: Path, tmp_path: Path) -> None:
    """What the refused files hold does run where it is let in."""
    assert pickle.loads(PICKLE) == 0  # noqa: S301
    (tmp_path / CANARY).unlink()
    put("predictor.py", CODE)(sealed)
    bundle.load(sealed)
    assert (tmp_path / CANARY).exists()


@pytest.mark.parametrize("name", CONTENT)
def test_content_is_refused_although_the_seal_agrees(
    sealed: Path, name: str, tmp_path: Path
) -> None:
    file, content = CONTENT[name]
    put(file, content)(sealed)
    with pytest.raises(BundleError, match=f"(?s){sealed}/{file}: .") as refused:
        bundle.load(sealed)
    assert len(str(refused.value)) < 700
    assert not (tmp_path / CANARY).exists()


def _rename(name: str) -> dict[str, Any]:
    return {"files": {"predictor.py": "0" * 64, name: "0" * 64}}


SEALS: dict[str, bytes | dict[str, Any]] = {
    **{
        f"a file called {name!r:.20}": _rename(name)
        for name in (
            "../weights.json", "/etc/passwd", "a/b.json", ".hidden.json", "-rf.json", "a\n.json",
            "a\u202ejson.json", bundle.SEAL, "x" * 300,
        )
    },
    "names that clash": {"files": dict.fromkeys(("predictor.py", "a.json", "A.json"), "0" * 64)},
    "too many files": {
        "files": dict.fromkeys(["predictor.py", *(f"f{at}.json" for at in range(64))], "0" * 64)
    },
    "no predictor": {"files": {}},
    "a digest that is none": {"files": {"predictor.py": "0" * 63 + "G"}},
    "another key": {"auto_map": {}},
    "a task that is a path": {"task": "../../etc"},
    "a signature of another form": {
        "signature": {"inputs": [{"name": "x"}], "outputs": [], "params": []}
    },
    "an example of other columns": {"example": {"z": [1.0]}},
    "a source of other keys": {"source": {"code": "x"}},
    "no object": b"[]",
    "a key that occurs twice": b'{"format": 2, "format": 2}',
    "two megabytes": b" " * (2 << 20),
}  # fmt: skip


@pytest.mark.parametrize("name", SEALS)
def test_seals_are_refused(sealed: Path, name: str, tmp_path: Path) -> None:
    (sealed / "predictor.py").write_bytes(CODE)
    change = SEALS[name]
    if isinstance(change, bytes):
        (sealed / bundle.SEAL).write_bytes(change)
    else:
        reseal(sealed, **change)
    with pytest.raises(BundleError, match=f"{sealed}/{bundle.SEAL}: ") as refused:
        bundle.load(sealed)
    assert len(str(refused.value)) < 700
    assert not (tmp_path / CANARY).exists()


def a_link(folder: Path) -> str:
    (folder / "weights.json").rename(folder.parent / "weights.json")
    (folder / "weights.json").symlink_to(folder.parent / "weights.json")
    return "weights.json: a link"


def a_pipe(folder: Path) -> str:
    (folder / "weights.json").unlink()
    os.mkfifo(folder / "weights.json")
    return "weights.json: a device, pipe or socket"


def a_folder(folder: Path) -> str:
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "predictor.cpython-311.pyc").write_bytes(b"planted")
    return "__pycache__: a folder"


def a_file_more(folder: Path) -> str:
    (folder / "json.py").write_bytes(CODE)
    return "json.py: does not belong"


def a_file_less(folder: Path) -> str:
    (folder / "weights.json").unlink()
    return "weights.json: missing"


def another_case(folder: Path) -> str:
    (folder / "weights.json").rename(folder / "Weights.json")
    return "Weights.json: does not belong"


def a_byte(folder: Path) -> str:
    raw = bytearray((folder / "model.safetensors").read_bytes())
    raw[-1] ^= 1
    (folder / "model.safetensors").write_bytes(raw)
    return "model.safetensors: changed"


def a_hundred_files(folder: Path) -> str:
    for number in range(100):
        (folder / f"{number}.json").write_text("{}")
    return "105 files"


DISK = (
    a_link, a_pipe, a_folder, a_file_more, a_file_less, another_case, a_byte,
    a_hundred_files,
)  # fmt: skip


@pytest.mark.parametrize("damage", DISK, ids=lambda damage: damage.__name__)
def test_what_else_lies_on_the_disk_is_refused(
    sealed: Path, damage: Callable[[Path], str], tmp_path: Path
) -> None:
    reason = damage(sealed)
    with pytest.raises(BundleError, match=reason):
        bundle.load(sealed)
    assert not (tmp_path / CANARY).exists()


def test_only_the_expected_bundle_is_loaded(sealed: Path) -> None:
    assert bundle.load(sealed, expected=bundle.digest(sealed))
    with pytest.raises(BundleError, match="bundle digest mismatch: expected 000"):
        bundle.load(sealed, expected="0" * 64)


def test_more_bytes_than_any_bundle_has_are_not_read(sealed: Path) -> None:
    with (sealed / "model.safetensors").open("r+b") as file:
        file.truncate(1 << 34)  # on paper
    with pytest.raises(BundleError, match="at most 17,179,869,184"):
        bundle.load(sealed)


def test_words_of_a_vocabulary_are_no_orders(sealed: Path) -> None:
    put("tokenizer.json", b'{"model": {"vocab": {"auto_map": 7, "trust_remote_code": 8}}}')(sealed)
    assert bundle.load(sealed)
