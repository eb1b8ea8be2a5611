"""What an installation left uncompiled is compiled beside the first stages, once."""

import sys
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
