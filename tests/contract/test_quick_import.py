"""A library is imported without a look for garbage, and then others are looked at again."""

import gc
import importlib
import sys
from pathlib import Path

import pytest

from plumbline.contract.quick_import import pause_collection


def test_garbage_is_looked_for_again_after_an_import_that_failed() -> None:
    with pytest.raises(ImportError), pause_collection():  # noqa: PT012  what an import does
        assert not gc.isenabled()
        with pause_collection():
            pass
        assert not gc.isenabled()  # the outer one goes on
        raise ImportError
    assert gc.isenabled()


def test_what_was_imported_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_new_library.py").write_text("TABLE = [[number] for number in range(10_000)]\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = gc.get_freeze_count()
    with pause_collection():
        library = importlib.import_module("a_new_library")
    monkeypatch.delitem(sys.modules, "a_new_library")
    assert not any(found is library.TABLE for found in gc.get_objects())
    frozen = gc.get_freeze_count()
    assert frozen >= before + 10_000
    with pause_collection():
        importlib.import_module("json")  # it is here already
    assert gc.get_freeze_count() <= frozen
