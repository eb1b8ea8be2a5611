"""What an installation left uncompiled is compiled beside the first stages, once."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.support.checkouts import find_python

from plumbline.pipeline_run import compiling


def test_what_is_not_compiled_is_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new_library.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setattr(sys, "executable", find_python())
    assert not compiling.is_compiled("new_library.part")

    compiling.compile_all(["new_library", "no_library"])

    assert compiling.is_compiled("new_library.part")
    assert compiling.is_compiled("no_library")


def test_one_process_compiles_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "new_library.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(compiling, "LIBRARIES", ("new_library",))
    held: list[int] = []
    monkeypatch.setattr(
        subprocess, "Popen", lambda _, pass_fds, **options: held.append(os.dup(pass_fds[0]))
    )
    compiling.start()
    compiling.start()
    assert len(held) == 1

    os.close(held[0])
    compiling.start()
    assert len(held) == 2
