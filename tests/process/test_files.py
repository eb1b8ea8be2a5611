"""Artifacts are whole or not there; what the system refuses is one line with its remedy."""

import errno
import os
import sqlite3
import stat
from pathlib import Path

import pytest
from safetensors import SafetensorError

from plumbline.process.files import digest_path, publish, read_json, write_aside, write_json
from plumbline.process.leftovers import make_aside_folder
from plumbline.process.system_errors import explain_system_error


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"one": 1})

    def interrupted() -> None:
        with write_aside(path) as aside:
            aside.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert read_json(path) == {"one": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_json_is_strict_and_stable(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"b": 1, "a": "é"})
    assert path.read_bytes() == '{\n  "a": "é",\n  "b": 1\n}\n'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"a": float("nan")})
    assert read_json(path) == {"b": 1, "a": "é"}


@pytest.mark.parametrize("mask", [0o002, 0o022, 0o077])
def test_the_umask_decides_who_may_read_and_write(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_json(tmp_path / "a.json", {})
        with make_aside_folder(tmp_path, "folder") as aside:
            (aside / "file").touch()
            publish(aside, tmp_path / "folder")
    finally:
        os.umask(before)
    for name, asked in (("a.json", 0o666), ("folder", 0o777), ("folder/file", 0o666)):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == asked & ~mask


def test_a_folder_s_digest_sees_names_and_contents(tmp_path: Path) -> None:
    def made(name: str, file: str, text: str) -> str:
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(text)
        return digest_path(tmp_path / name)

    one = made("one", "a", "x")
    assert one == made("two", "a", "x")
    assert len({one, made("three", "b", "x"), made("four", "a", "y")}) == 3


def test_a_write_without_a_path_gets_that_of_the_file_it_replaces(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="No space left") as raised,
        write_aside(tmp_path / "metrics.json"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    message = explain_system_error(raised.value)
    assert message == (
        f"{tmp_path}/metrics.json: no space left on device (ENOSPC); "
        "free space on that disk (`df -h`), then run the same command again"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SafetensorError("I/O error: No space left on device (os error 28)"), "(ENOSPC)"),
        (sqlite3.OperationalError("database or disk is full"), "(ENOSPC)"),
        (MemoryError(), "(ENOMEM)"),
        (RuntimeError("can't allocate memory. Error code 12 (Cannot allocate memory)"), "(ENOMEM)"),
        (ConnectionError("the peer has gone\nand more"), "ConnectionError: the peer has gone"),
    ],
)
def test_errors_of_libraries_are_understood(error: Exception, said: str) -> None:
    message = explain_system_error(error)
    assert explain_system_error(ValueError("a bug")) is None  # it keeps its traceback
    assert message is not None
    assert said in message
    assert "\n" not in message
